// The search of one panel for a tile of queries, the same for all levels: blocks of rows against groups of queries.
//
// A block of rows stays in the first cache while all groups of queries pass, which are sorted by norm; the slack is that
// of a band of groups. A level computes the scores of a block and a group in registers and compares them with the queries'
// thresholds there; only what passes is written to memory.
//
// The slack. Let x = xb + xr, where xb is what a level stores of x and xr what rounding drops, whose norm is known (it is
// computed, not estimated); q alike. Then |q.x - qb.xb| = |q.xr + qr.xb| <= |q| |xr| + |qr| (|x| + |xr|), by Cauchy and
// Schwarz. A sum of n terms in float32, in any order, fused or not, is off by at most g = n u / (1 - n u), u = 2^-24,
// times the sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), so
// the sum of the initial value, about -|x|^2 / 2, and of the products by g (|q| |x| + |x|^2 / 2) at most; whole numbers
// are summed without error. Norms are rounded up. The rank, summed in float64, is within (d + 3) 2^-53 of the exact
// number, relatively, and squares within d 2^-53: of both the part of |q|^2 is in `blur`, the rest in g. Underflow, also
// where it is flushed to zero, adds at most (d + 16) 2^-125 (1 + |q| + |x|), which is far below what the caller adds as
// `absolute`.
#pragma once
#include <algorithm>
#include <vector>

#include "lists.h"

namespace nearlabel {

constexpr float kPadding = -3e38f;  // score of rows that only fill a block: below every threshold

constexpr int64_t kGroupsPerBand = 8;  // a slack for each group would cost as much as the products of few features
constexpr float kWidestBand = 64;      // ratio of norms, so that a far query does not loosen the bounds of others

// Groups of queries that share a slack, and the largest norms in them, on which it depends.
struct Band {
  int64_t first_group;
  float least_norm;
  float norm = 0, rest = 0;
};

// What sums of levels of floating point start from. `step` is what a level adds to an initial value in rounding it up.
struct FloatStart {
  static double step(double) { return 0; }
  FloatStart(const float *initial, double) : values(initial) {}
  const float *values;
};

template <class Level>
class Offer {
 public:
  Offer(const Points &rows, const int64_t *numbers, const Points &queries, const uint8_t *takes, const int64_t *own,
        const Lists &lists)
      : rows_(rows), numbers_(numbers), queries_(queries), own_(own), lists_(lists),
        rounding_((rows.depth + 16) * 0x1p-24 / (1 - (rows.depth + 16) * 0x1p-24)),
        safety_(1 + 2 * rounding_ + 0x1p-20),
        blur_((rows.n_features + 16) * 0x1p-52) {
    arrange(takes);
    packed_.assign(Level::bytes(n_groups() * Level::kQueries, rows.depth, false), 0);
    thresholds_.assign(n_groups() * Level::kQueries, kInfinity);
    for (size_t slot = 0; slot < query_in_.size(); ++slot) {
      if (query_in_[slot] < 0) continue;
      Level::copy(queries.packed, query_in_[slot], packed_.data(), slot, rows.depth);
      thresholds_[slot] = threshold(query_in_[slot]);
    }
  }

  void run() {
    for (int64_t first = 0; first < rows_.n_points; first += Level::kRows)
      for (size_t band = 0; band < bands_.size(); ++band) compare(first, band);
  }

 private:
  int64_t n_groups() const { return (query_in_.size() + Level::kQueries - 1) / Level::kQueries; }

  // Give each query that takes rows a slot, near others of its norm; a much larger norm begins a band.
  void arrange(const uint8_t *takes) {
    std::vector<int64_t> order;
    for (int64_t query = 0; query < queries_.n_points; ++query)
      if (takes[query] != 0 && lists_.unresolved[query] == 0) order.push_back(query);
    const float *norms = queries_.norms;
    std::stable_sort(order.begin(), order.end(), [norms](int64_t a, int64_t b) { return norms[a] < norms[b]; });
    for (const int64_t query : order) {
      const bool at_start = query_in_.size() % (kGroupsPerBand * Level::kQueries) == 0;
      if (bands_.empty() || at_start || norms[query] > kWidestBand * bands_.back().least_norm) {
        query_in_.resize(n_groups() * Level::kQueries, -1);
        bands_.push_back({n_groups(), norms[query]});
      }
      query_in_.push_back(query);
      bands_.back().norm = std::max(bands_.back().norm, norms[query]);
      bands_.back().rest = std::max(bands_.back().rest, queries_.rests[query]);
    }
  }

  // The slack is in the initial value, so that a score is an upper bound, and less twice the slack a lower one.
  void compare(int64_t first, size_t band) {
    alignas(64) float initial[Level::kRows];
    float slack[Level::kRows];
    set_slack(first, bands_[band], slack, initial);
    const typename Level::Start start(initial, rows_.unit * queries_.unit);
    const int64_t end = band + 1 < bands_.size() ? bands_[band + 1].first_group : n_groups();
    for (int64_t group = bands_[band].first_group; group < end; ++group) compare(first, group, start, slack);
  }

  void compare(int64_t first, int64_t group, const typename Level::Start &start, const float *slack) {
    alignas(64) float scores[Level::kQueries * Level::kRows];
    uint32_t hits[Level::kQueries];
    const int64_t slot = group * Level::kQueries;
    if (!Level::score(rows_, first, packed_.data(), slot, start, &thresholds_[slot], scores, hits)) return;
    for (int64_t q = 0; q < Level::kQueries; ++q)
      for (uint32_t left = hits[q]; left != 0; left &= left - 1) {
        const int row = __builtin_ctz(left);
        take(slot + q, first + row, scores[q * Level::kRows + row], slack[row]);
      }
  }

  void set_slack(int64_t first, const Band &band, float *slack, float *initial) const {
    const double step = Level::Start::step(rows_.unit * queries_.unit);
    for (int64_t i = 0; i < Level::kRows; ++i) {
      const int64_t row = first + i;
      slack[i] = 0;
      initial[i] = kPadding;
      if (row >= rows_.n_points) continue;
      const double x = rows_.norms[row], xr = rows_.rests[row];
      if (!lists_.exact) {
        const double of_rest = band.norm * xr + band.rest * (x + xr), of_sums = rounding_ * x * (band.norm + x);
        slack[i] = static_cast<float>(safety_ * (of_rest + of_sums + step + lists_.absolute / 2));
      }
      initial[i] = static_cast<float>(slack[i] - rows_.squares[row] / 2);
    }
  }

  // The least score that a candidate may have: of a row at the limit, at most the limit's distance from the query.
  float threshold(int64_t query) const {
    const float limit = lists_.limits[query];
    if (lists_.exact)  // of equal ones the first is kept, so a row at the limit comes too late
      return std::nextafterf(round_down((queries_.squares[query] - limit) / 2), full(query) ? kInfinity : -kInfinity);
    return round_down((queries_.squares[query] * (1 - blur_) - limit) / 2);
  }

  bool full(int64_t query) const { return lists_.n_uppers[query] == lists_.n_neighbors; }

  void take(int64_t slot, int64_t row, float score, float slack) {
    if (row >= rows_.n_points || score < thresholds_[slot]) return;
    const int64_t query = query_in_[slot], number = numbers_[row];
    if (own_ != nullptr && own_[query] == number) return;
    const double square = queries_.squares[query], twice = 2.0 * score;
    const double spread = lists_.exact ? 0 : blur_ * square;
    Candidates candidates(lists_, query);
    candidates.take(number, round_down(square - spread - twice), round_up(square + spread - twice + 4.0 * slack));
    thresholds_[slot] = candidates.is_unresolved() ? kInfinity : threshold(query);
  }

  const Points &rows_;
  const int64_t *numbers_;
  const Points &queries_;
  const int64_t *own_;
  const Lists &lists_;
  std::vector<int64_t> query_in_;  // by slot; -1 for one that only fills a group
  std::vector<char> packed_;
  std::vector<float> thresholds_;  // by slot
  std::vector<Band> bands_;
  const double rounding_;
  const double safety_;  // the slack is itself a term of the sum, and rounded to float32
  const double blur_;
};

}  // namespace nearlabel
