// The search of one panel of sparse rows. Scores are summed feature by feature of a query, and begin with -|x|^2 / 2.
//
// A rare feature has a list of postings, rows and their values: they cost as much as it has rows, and are added to the
// scores of the whole panel, which stay in the first cache. A frequent one has a dense column, zeros included: these are
// added run by run of rows, where the scores stay in registers and the columns of a run in the cache while a group of
// queries passes. A product with zero is zero and adds nothing, so a sum has as many terms as the row has values, and
// the bound of offer.cpp holds for these.
//
// Rows come sorted by norm unless they are exact, so that those of a run have nearly the same slack. It is computed for
// a run and a query, and the threshold is lowered by it.
#include <algorithm>
#include <utility>
#include <vector>

#include "bounds.h"
#include "candidates.h"
#include "offer.h"

namespace nearlabel {
namespace {

constexpr float kPadding = -3e38f;  // score of rows that only fill a run: below every threshold
constexpr float kNoLimit = 1e38f;   // the limit of a query before its first panel
constexpr size_t kGroup = 8;        // queries that pass a run while it is in the cache

// The largest of its rows.
struct Run {
  float norm = 0, rest = 0;
};

// A query that is compared now.
struct Current {
  int64_t query;
  int32_t place;  // in the lists
  float threshold, half;
  std::vector<Column> columns;
  std::vector<float> scores;  // of all rows
};

class OfferSparse {
 public:
  OfferSparse(const SparseLevel &level, const SparseRows &rows, const int32_t *numbers, const SparseQueries &queries,
              const int32_t *own, const Lists &lists, const Lists *lists_of_rows)
      : level_(level), rows_(rows), numbers_(numbers), queries_(queries), own_(own), lists_(lists),
        lists_of_rows_(lists_of_rows), runs_((rows.n_points + kRun - 1) / kRun), initial_(runs_.size() * kRun, kPadding),
        of_rows_(lists_of_rows == nullptr ? 0 : initial_.size(), kInfinity), group_(kGroup),
        rounding_(rounding_of(rows.n_terms)), bounds_(lists, rows.n_features) {
    for (int64_t row = 0; row < rows.n_points; ++row) {
      initial_[row] = static_cast<float>(-rows.squares[row] / 2);
      Run &run = runs_[row / kRun];
      run.norm = std::max(run.norm, rows.norms[row]);
      run.rest = std::max(run.rest, rows.rests[row]);
      if (lists_of_rows_ != nullptr) set_threshold_of_row(row);
    }
  }

  void run(const int32_t *places) {
    size_t n = 0;
    for (int64_t query = 0; query < queries_.n_points; ++query) {
      const int32_t place = places[query];
      if (place < 0 || (lists_of_rows_ == nullptr && lists_.unresolved[place] != 0)) continue;
      begin(group_[n++], query, place);
      if (n == kGroup) compare(std::exchange(n, 0));
    }
    compare(n);
    for (int64_t row = 0; lists_of_rows_ != nullptr && row < rows_.n_points; ++row)
      Candidates(*lists_of_rows_, row).sift_some(memory_);
  }

 private:
  // Add the postings of a query's rare features; note its frequent ones.
  void begin(Current &of, int64_t query, int32_t place) {
    of.query = query;
    of.place = place;
    of.scores = initial_;
    of.columns.clear();
    for (int64_t i = queries_.starts[query]; i < queries_.starts[query + 1]; ++i) {
      const int32_t feature = queries_.features[i];
      const uint64_t word = rows_.stored[feature / 64], bit = uint64_t{1} << feature % 64;
      if ((word & bit) == 0) continue;
      const int64_t place = rows_.before[feature / 64] + __builtin_popcountll(word & (bit - 1));
      if (rows_.columns[place] >= 0)
        of.columns.push_back({rows_.columns[place], queries_.values[i]});
      else
        add_postings(rows_.starts[place], rows_.starts[place + 1], queries_.values[i], of.scores.data());
    }
  }

  void add_postings(int64_t first, int64_t end, float factor, float *scores) const {
    for (int64_t i = first; i < end; ++i) scores[rows_.rows[i]] += factor * rows_.values[i];
  }

  void compare(size_t n) {
    lower_first_limits(n);
    for (size_t i = 0; i < n; ++i) {
      group_[i].threshold = threshold_of(group_[i]);
      group_[i].half = bounds_.half(queries_.squares[group_[i].query]);
    }
    for (size_t run = 0; run < runs_.size(); ++run)
      for (size_t i = 0; i < n; ++i) compare(run, group_[i]);
    for (size_t i = 0; i < n; ++i) Candidates(lists_, group_[i].place).sift_some(memory_);
  }

  // Nothing is known of the first panel: without a limit, all of its first rows would be candidates. So all scores come
  // first. The best rows of some runs are different rows; with one run more, none of them need be the query itself.
  void lower_first_limits(size_t n) {
    const int32_t k = lists_.n_neighbors + (own_ != nullptr);
    if (static_cast<size_t>(k) > runs_.size()) return;
    const auto is_new = [this](const Current &of) { return !(lists_.limits[of.place] < kNoLimit); };
    for (size_t run = 0; run < runs_.size(); ++run)
      for (size_t i = 0; i < n; ++i)
        if (is_new(group_[i])) score(run, group_[i], {nullptr, nullptr, &kInfinity, &kInfinity, nullptr});
    for (size_t i = 0; i < n; ++i) {
      if (!is_new(group_[i])) continue;
      group_[i].columns.clear();
      uppers_.clear();
      for (size_t run = 0; run < runs_.size(); ++run) uppers_.push_back(as_whole(best_upper(run, group_[i])));
      lists_.limits[group_[i].place] = of_whole(kth_least(uppers_, k));
    }
  }

  float best_upper(size_t run, const Current &of) const {
    const double slack = slack_in(runs_[run], of.query), square = queries_.squares[of.query];
    return bounds_.candidate(0, square, best_of(&of.scores[run * kRun]) + slack, slack).upper;
  }

  // Of a run; halves are compared, as many numbers at a time as registers take.
  static float best_of(const float *scores) {
    float best[kRun];
    std::copy(scores, scores + kRun, best);
    for (int n = kRun / 2; n > 0; n /= 2)
      for (int i = 0; i < n; ++i) best[i] = std::max(best[i], best[n + i]);
    return best[0];
  }

  uint64_t score(size_t run, Current &of, const Group &query) const {
    const float *block = rows_.dense + run * kRun * rows_.n_columns;
    const auto score = query.of_rows == nullptr ? level_.score : level_.score_both;
    return score(block, of.columns.data(), of.columns.size(), query, &of.scores[run * kRun]);
  }

  void compare(size_t run, Current &of) {
    const int64_t first = run * kRun;
    const double slack = slack_in(runs_[run], of.query), widened = slack * (1 + kRounding);
    const auto least = static_cast<float>(of.threshold - widened), half = static_cast<float>(of.half - widened);
    const float *of_rows = lists_of_rows_ == nullptr ? nullptr : &of_rows_[first];
    uint64_t hits = score(run, of, {nullptr, nullptr, &least, &half, of_rows});
    for (; hits != 0; hits &= hits - 1) take(of, first + __builtin_ctzll(hits), slack);
  }

  double slack_in(const Run &run, int64_t query) const {
    if (lists_.exact != 0) return 0;
    return Slack(rounding_, lists_.absolute, queries_.norms[query], queries_.rests[query]).with(run.norm, run.rest);
  }

  void take(Current &of, int64_t row, double slack) {
    if (row >= rows_.n_points || (own_ != nullptr && own_[of.place] == numbers_[row])) return;
    const double score = of.scores[row] + slack;
    const Candidate candidate = bounds_.candidate(numbers_[row], queries_.squares[of.query], score, slack);
    if (score >= of.threshold) {
      Candidates candidates(lists_, of.place);
      if (candidates.take(candidate)) {
        candidates.sift(memory_);
        of.threshold = threshold_of(of);
      }
    }
    if (lists_of_rows_ != nullptr && candidate.lower <= lists_of_rows_->limits[row]) {
      Candidates candidates(*lists_of_rows_, row);
      if (candidates.take({own_[of.place], candidate.lower, candidate.upper})) {
        candidates.sift(memory_);
        set_threshold_of_row(row);
      }
    }
  }

  float threshold_of(const Current &of) const {
    if (lists_.unresolved[of.place] != 0) return kInfinity;
    return bounds_.threshold(queries_.squares[of.query], lists_.limits[of.place], lists_.n_sifted[of.place] > 0);
  }

  void set_threshold_of_row(int64_t row) {
    const Lists &lists = *lists_of_rows_;
    of_rows_[row] = lists.unresolved[row] != 0 ? kInfinity : Bounds::threshold_of_row(lists.limits[row]);
  }

  const SparseLevel &level_;
  const SparseRows &rows_;
  const int32_t *numbers_;
  const SparseQueries &queries_;
  const int32_t *own_;
  const Lists &lists_;
  const Lists *lists_of_rows_;
  std::vector<Run> runs_;
  std::vector<float> initial_, of_rows_;  // scores and thresholds of rows
  std::vector<Current> group_;
  std::vector<int32_t> uppers_, memory_;  // bounds as whole numbers
  const double rounding_;
  const Bounds bounds_;
};

}  // namespace

void offer(const SparseLevel &level, const SparseRows &rows, const int32_t *numbers, const SparseQueries &queries,
           const int32_t *places, const int32_t *own, const Lists &lists, const Lists *lists_of_rows) {
  OfferSparse(level, rows, numbers, queries, own, lists, lists_of_rows).run(places);
}

}  // namespace nearlabel
