// The search of one panel for a tile of queries, the same for all levels: blocks of rows against groups of queries.
//
// A block of rows stays in the first cache while all groups of queries pass, which are sorted by norm; the slack is that
// of a band of groups. A level computes the scores of a block and a group in registers and compares them with the least
// scores of candidates there; only what passes is written to memory.
//
// The slack. Let x = xb + xr, where xb is what a level stores of x and xr what rounding drops, whose norm is known (it is
// computed, not estimated); q alike. Then |q.x - qb.xb| = |q.xr + qr.xb| <= |q| |xr| + |qr| (|x| + |xr|), by Cauchy and
// Schwarz. A sum of n terms in float32, in any order, fused or not, is off by at most g = n u / (1 - n u), u = 2^-24,
// times the sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), so
// the sum of the initial value, about -|x|^2 / 2, and of the products by g (|qb| |xb| + |x|^2 / 2) at most. A sum of
// whole numbers is exact, and rounded when it becomes a float32, is multiplied by units and added to the initial value:
// four roundings. Norms are rounded up. The rank, summed in float64, is within (d + 3) 2^-53 of the exact number,
// relatively, and squares within d 2^-53: of both the part of |q|^2 is in `blur`, the rest in g. Underflow, also where it
// is flushed to zero, adds at most (d + 16) 2^-125 (1 + |q| + |x|), and of whole numbers, where the product of two units
// may underflow, 2^-95: below 2^-60, which the caller adds as `absolute`, for norms below 2^44; of longer queries
// kRounding |q|^2 is far more.
#include "offer.h"

#include <algorithm>
#include <vector>

#include "bounds.h"
#include "candidates.h"

namespace nearlabel {
namespace {

constexpr float kPadding = -3e38f;  // score of rows that only fill a block: below every threshold
constexpr int32_t kMostQueries = 32, kMostRows = 32;
constexpr size_t kAlignment = 64;

constexpr int64_t kGroupsPerBand = 8;  // a slack for each group would cost as much as the products of few features
constexpr float kWidestBand = 64;      // ratio of norms, so that a far query does not loosen the bounds of others

// Groups of queries that share a slack, and the largest norms in them, on which it depends.
struct Band {
  int64_t first_group;
  float least_norm;
  float norm = 0, rest = 0;
};

class Offer {
 public:
  Offer(const Level &level, const Points &rows, const int32_t *numbers, const Points &queries, const int32_t *places,
        const int32_t *own, const Lists &lists, const Lists *lists_of_rows)
      : level_(level), rows_(rows), numbers_(numbers), queries_(queries), places_(places), own_(own), lists_(lists),
        lists_of_rows_(lists_of_rows),
        rounding_(rounding_of(rows.depth)),
        bounds_(lists, rows.n_features) {
    arrange();
    copy_queries();
    if (lists_of_rows_ == nullptr) return;
    for (int64_t row = 0; row < rows_.n_points; ++row) of_rows_.push_back(threshold_of_row(row));
    of_rows_.resize(rows_.n_points + kMostRows, kInfinity);
  }

  void run() {
    if (level_.begin != nullptr) level_.begin();
    for (int64_t first = 0; first < rows_.n_points; first += level_.n_rows)
      for (size_t band = 0; band < bands_.size(); ++band) compare(first, band);
    if (level_.end != nullptr) level_.end();
    for (const int64_t query : query_in_)
      if (query >= 0) Candidates(lists_, places_[query]).sift_some(memory_);
    for (int64_t row = 0; lists_of_rows_ != nullptr && row < rows_.n_points; ++row)
      Candidates(*lists_of_rows_, row).sift_some(memory_);
  }

 private:
  int64_t n_groups() const { return (query_in_.size() + level_.n_queries - 1) / level_.n_queries; }

  // Give each query that takes rows a slot, near others of its norm; a much larger norm begins a band. One that is
  // unresolved may still be among the nearest of the rows.
  void arrange() {
    std::vector<int64_t> order;
    for (int64_t query = 0; query < queries_.n_points; ++query)
      if (places_[query] >= 0 && (lists_of_rows_ != nullptr || lists_.unresolved[places_[query]] == 0))
        order.push_back(query);
    const float *norms = queries_.norms;
    std::stable_sort(order.begin(), order.end(), [norms](int64_t a, int64_t b) { return norms[a] < norms[b]; });
    for (const int64_t query : order) {
      const bool at_start = query_in_.size() % (kGroupsPerBand * level_.n_queries) == 0;
      if (bands_.empty() || at_start || norms[query] > kWidestBand * bands_.back().least_norm) {
        query_in_.resize(n_groups() * level_.n_queries, -1);
        bands_.push_back({n_groups(), norms[query]});
      }
      query_in_.push_back(query);
      bands_.back().norm = std::max(bands_.back().norm, norms[query]);
      bands_.back().rest = std::max(bands_.back().rest, queries_.rests[query]);
    }
    query_in_.resize(n_groups() * level_.n_queries, -1);
  }

  void copy_queries() {
    packed_.resize(level_.bytes(query_in_.size(), rows_.depth, false) + kAlignment);
    thresholds_.assign(query_in_.size(), kInfinity);
    halves_.assign(query_in_.size(), kInfinity);
    units_.assign(query_in_.size(), 1);
    for (size_t slot = 0; slot < query_in_.size(); ++slot) {
      const int64_t query = query_in_[slot];
      if (query < 0) continue;
      level_.copy(queries_.packed, query, packed(), slot, rows_.depth);
      units_[slot] = queries_.units[query];
      thresholds_[slot] = threshold(query);
      halves_[slot] = bounds_.half(queries_.squares[query]);
    }
  }

  char *packed() { return packed_.data() + (-reinterpret_cast<uintptr_t>(packed_.data()) % kAlignment); }

  // The slack is in the initial value, so a score is at least the true one; less twice the slack it is at most the true
  // one.
  void compare(int64_t first, size_t band) {
    alignas(kAlignment) float initial[kMostRows];
    float slack[kMostRows], units[kMostRows] = {};
    set_slack(first, bands_[band], slack, initial);
    std::copy(rows_.units + first, rows_.units + std::min(first + level_.n_rows, rows_.n_points), units);
    const char *block = static_cast<const char *>(rows_.packed) + level_.bytes(first, rows_.depth, true);
    const int64_t end = band + 1 < bands_.size() ? bands_[band + 1].first_group : n_groups();
    for (int64_t group = bands_[band].first_group; group < end; ++group)
      compare(first, group, {block, rows_.depth, units, initial}, slack);
  }

  void compare(int64_t first, int64_t group, const Block &block, const float *slack) {
    alignas(kAlignment) float scores[kMostQueries * kMostRows];
    uint32_t hits[kMostQueries];
    const int64_t slot = group * level_.n_queries;
    const float *of_rows = lists_of_rows_ == nullptr ? nullptr : &of_rows_[first];
    const auto score = lists_of_rows_ == nullptr ? level_.score : level_.score_both;
    const Group queries = {packed() + level_.bytes(slot, rows_.depth, false), &units_[slot], &thresholds_[slot],
                           &halves_[slot], of_rows};
    if (!score(block, queries, scores, hits)) return;
    for (int32_t q = 0; q < level_.n_queries; ++q)
      for (uint32_t left = hits[q]; left != 0; left &= left - 1) {
        const int row = __builtin_ctz(left);
        if (first + row < rows_.n_points) take(slot + q, first + row, scores[q * level_.n_rows + row], slack[row]);
      }
  }

  void set_slack(int64_t first, const Band &band, float *slack, float *initial) const {
    const int64_t n = std::min(int64_t{level_.n_rows}, rows_.n_points - first);
    std::fill(slack, slack + kMostRows, 0.0f);
    std::fill(initial + n, initial + level_.n_rows, kPadding);
    if (lists_.exact == 0) {
      const Slack of_band(rounding_, lists_.absolute, band.norm, band.rest);
      for (int64_t i = 0; i < n; ++i)
        slack[i] = static_cast<float>(of_band.with(rows_.norms[first + i], rows_.rests[first + i]));
    }
    for (int64_t i = 0; i < n; ++i) initial[i] = static_cast<float>(slack[i] - rows_.squares[first + i] / 2);
  }

  float threshold(int64_t query) const {
    const int32_t place = places_[query];
    if (lists_.unresolved[place] != 0) return kInfinity;
    return bounds_.threshold(queries_.squares[query], lists_.limits[place], lists_.n_sifted[place] > 0);
  }

  float threshold_of_row(int64_t row) const {
    return lists_of_rows_->unresolved[row] != 0 ? kInfinity : Bounds::threshold_of_row(lists_of_rows_->limits[row]);
  }

  void take(int64_t slot, int64_t row, float score, float slack) {
    const int64_t query = query_in_[slot];
    if (query < 0) return;
    const int32_t place = places_[query];
    if (own_ != nullptr && own_[place] == numbers_[row]) return;
    const Candidate candidate = bounds_.candidate(numbers_[row], queries_.squares[query], score, slack);
    if (score >= thresholds_[slot]) {
      Candidates candidates(lists_, place);
      if (candidates.take(candidate)) {
        candidates.sift(memory_);
        thresholds_[slot] = threshold(query);
      }
    }
    if (lists_of_rows_ != nullptr && candidate.lower <= lists_of_rows_->limits[row]) {
      Candidates candidates(*lists_of_rows_, row);
      if (candidates.take({own_[place], candidate.lower, candidate.upper})) {
        candidates.sift(memory_);
        of_rows_[row] = threshold_of_row(row);
      }
    }
  }

  const Level &level_;
  const Points &rows_;
  const int32_t *numbers_;
  const Points &queries_;
  const int32_t *places_, *own_;
  const Lists &lists_;
  const Lists *lists_of_rows_;
  std::vector<int64_t> query_in_;  // by slot; -1 for one that only fills a group
  std::vector<char> packed_;
  std::vector<float> thresholds_, halves_, units_;  // by slot
  std::vector<float> of_rows_;
  std::vector<int32_t> memory_;
  std::vector<Band> bands_;
  const double rounding_;
  const Bounds bounds_;
};

}  // namespace

void offer(const Level &level, const Points &rows, const int32_t *numbers, const Points &queries, const int32_t *places,
           const int32_t *own, const Lists &lists, const Lists *lists_of_rows) {
  Offer(level, rows, numbers, queries, places, own, lists, lists_of_rows).run();
}

void offer(const Level &level, const Panels &panels, const int32_t *order, int64_t n_order, const double *lower,
           const Points &queries, const Lists &lists) {
  std::vector<int32_t> places(queries.n_points);
  for (int64_t i = 0; i < n_order; ++i) {
    const int32_t panel = order[i];
    int32_t n_taking = 0;
    for (int32_t query = 0; query < queries.n_points; ++query) {
      const bool takes = lists.limits[query] >= lower[query * panels.n_panels + panel];
      places[query] = takes ? query : -1;
      n_taking += takes;
    }
    const bool few = level.narrow != nullptr && n_taking <= level.n_queries / 2;
    if (n_taking > 0)
      offer(few ? *level.narrow : level, *panels.rows[panel], panels.numbers[panel], queries, places.data(), nullptr, lists,
            nullptr);
  }
}

}  // namespace nearlabel
