// The least Z of the stumps on each run of sorted entries: see nearlabel_least_z. Weights of a side only grow along a run,
// and each label's part of Z is concave in the two weights, so between two places of a run it is at least the least at the
// corners of the rectangle that they span. Blocks of entries whose bound exceeds a Z already found are not opened.
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include "nearlabel_kernels.h"

namespace {

constexpr size_t kBlock = 16;            // rows of a block
constexpr double kTied = 1 + 2e-10;      // more than the caller takes for equal
constexpr double kRounding = 1 - 1e-12;  // of the bounds

// The weights of one side at a place of a run, and the roots of those of both sides.
struct Edge {
  explicit Edge(size_t n) : sums(n), roots(n), roots_of_rest(n) {}
  std::vector<double> sums, roots, roots_of_rest;
};

class LeastZ {
 public:
  LeastZ(const double *weights, const double *totals, int32_t n_labels)
      : weights_(weights), totals_(totals), n_labels_(n_labels), width_(2 * size_t(n_labels)),
        before_(width_), after_(width_), sums_(width_), parts_(size_t(n_labels)) {}

  // The least Z of a run, infinite if a bound shows that another run has a smaller one.
  double of_run(const StumpRuns &runs, int64_t run, const uint8_t *reached) {
    choose(runs, run, reached);
    least_ = std::numeric_limits<double>::infinity();
    std::fill(before_.sums.begin(), before_.sums.end(), 0.0);
    set_roots(before_);
    for (size_t start = 0; start == 0 || start < n_rows_; start += kBlock)
      search(start, std::min(start + kBlock, n_rows_));
    best_ = std::min(best_, least_);
    return least_;
  }

 private:
  // List the rows of a run that are reached, without a branch: which these are cannot be foreseen.
  void choose(const StumpRuns &runs, int64_t run, const uint8_t *reached) {
    const int64_t first = runs.starts[run], n = runs.starts[run + 1] - first;
    const int32_t *rows = runs.rows + first;
    const uint8_t *thresholds = runs.has_threshold + first;
    rows_.resize(std::max(rows_.size(), size_t(n) + 1));
    has_threshold_.assign(size_t(n) + 1, 0);
    n_rows_ = 0;
    for (int64_t entry = 0; entry < n; ++entry) {
      rows_[n_rows_] = rows[entry];
      n_rows_ += reached == nullptr || reached[rows[entry]] != 0;
      has_threshold_[n_rows_] |= thresholds[entry];
    }
  }

  // Search a block of the chosen rows, from `start` to before `end`, whose `before_` is known.
  void search(size_t start, size_t end) {
    after_.sums = before_.sums;
    size_t first = 0;  // the width is even
    for (; first + 8 <= width_; first += 8) add_rows<8>(start, end, first, after_.sums.data() + first);
    for (; first < width_; first += 2) add_rows<2>(start, end, first, after_.sums.data() + first);
    set_roots(after_);
    const auto thresholds = has_threshold_.begin();
    const bool any = std::any_of(thresholds + start, thresholds + end + 1, [](uint8_t has) { return has != 0; });
    if (any && bound() * kRounding <= std::min(best_, least_) * kTied) open(start, end);
    std::swap(before_, after_);
  }

  void open(size_t start, size_t end) {
    sums_ = before_.sums;
    for (size_t i = start;; ++i) {
      if (has_threshold_[i] != 0) least_ = std::min(least_, z());
      if (i == end) break;
      add(rows_[i], sums_.data());
    }
  }

  // Add some columns of the weights of the block's rows: the sums stay in registers.
  template <size_t n_columns>
  void add_rows(size_t start, size_t end, size_t first, double *sums) const {
    double total[n_columns];
    std::copy(sums, sums + n_columns, total);
    for (size_t i = start; i < end; ++i) {
      const double *weights = weights_ + rows_[i] * width_ + first;
      for (size_t j = 0; j < n_columns; ++j) total[j] += weights[j];
    }
    std::copy(total, total + n_columns, sums);
  }

  void add(int32_t row, double *sums) const {
    const double *weights = weights_ + row * width_;
    for (size_t j = 0; j < width_; ++j) sums[j] += weights[j];
  }

  void set_roots(Edge &edge) const {
    for (size_t j = 0; j < width_; ++j) edge.roots[j] = std::sqrt(edge.sums[j]);
    for (size_t j = 0; j < width_; ++j) edge.roots_of_rest[j] = std::sqrt(rest(j, edge.sums[j]));
  }

  // The weight of the other side: where nothing is left, sums in another order may exceed the total by rounding.
  double rest(size_t j, double sum) const { return std::max(0.0, totals_[j] - sum); }

  double z() {
    const double *with = sums_.data(), *without = with + n_labels_;
    for (int32_t l = 0; l < n_labels_; ++l)
      parts_[l] = std::sqrt(with[l] * without[l]) +
                  std::sqrt(rest(l, with[l]) * rest(n_labels_ + l, without[l]));
    return twice_the_sum();
  }

  double bound() {
    const double *a = before_.roots.data(), *b = after_.roots.data();
    const double *c = before_.roots_of_rest.data(), *d = after_.roots_of_rest.data();
    for (int32_t l = 0, m = n_labels_; l < n_labels_; ++l, ++m) {
      const double at_edges = std::min(a[l] * a[m] + c[l] * c[m], b[l] * b[m] + d[l] * d[m]);
      const double at_others = std::min(a[l] * b[m] + c[l] * d[m], b[l] * a[m] + d[l] * c[m]);
      parts_[l] = std::min(at_edges, at_others);
    }
    return twice_the_sum();
  }

  double twice_the_sum() const {
    double sum = 0;
    for (const double part : parts_) sum += part;
    return 2 * sum;
  }

  const double *weights_, *totals_;
  const int32_t n_labels_;
  const size_t width_;
  Edge before_, after_;
  std::vector<double> sums_, parts_;
  double least_ = 0, best_ = std::numeric_limits<double>::infinity();
  // The chosen rows of a run, and whether there is a threshold after so many of them.
  std::vector<int32_t> rows_;
  std::vector<uint8_t> has_threshold_;
  size_t n_rows_ = 0;
};

}  // namespace

int32_t nearlabel_least_z(const StumpRuns *runs, const uint8_t *reached, const double *weights, const double *totals,
                          int32_t n_labels, double *least) try {
  LeastZ search(weights, totals, n_labels);
  for (int64_t run = 0; run < runs->n_runs; ++run) least[run] = search.of_run(*runs, run, reached);
  return 0;
} catch (const std::bad_alloc &) {
  return -2;
}
