// Sums over the features in their order, in float64: the numbers that decide. Compiled with -ffp-contract=off, so that
// nothing is fused and the bits are those of numpy's elementwise operations. Eight pairs at a time hide the time that an
// addition takes; each is summed by itself. The next rows are fetched meanwhile: they lie anywhere in memory.
#include "sum_pairs.h"

#include <algorithm>

#include "nearlabel_kernels.h"

namespace nearlabel {
namespace {

constexpr int kPairs = 8;

struct SquaredDifference {
  static double of(double a, double b) { return (a - b) * (a - b); }
};
struct Product {
  static double of(double a, double b) { return a * b; }
};

template <class Term, class Number>
void sum_pairs(const void *left, const void *right, int64_t n_features, const int64_t *left_rows,
               const int64_t *right_rows, int64_t n_pairs, double *sums) {
  constexpr int64_t kLine = 64 / sizeof(Number);
  for (int64_t first = 0; first < n_pairs; first += kPairs) {
    const Number *a[kPairs], *b[kPairs], *next[kPairs];
    double total[kPairs] = {};
    for (int64_t p = 0; p < kPairs; ++p) {
      const int64_t pair = std::min(first + p, n_pairs - 1), later = std::min(first + p + kPairs, n_pairs - 1);
      a[p] = static_cast<const Number *>(left) + left_rows[pair] * n_features;
      b[p] = static_cast<const Number *>(right) + right_rows[pair] * n_features;
      next[p] = static_cast<const Number *>(right) + right_rows[later] * n_features;
    }
    for (int64_t block = 0; block < n_features; block += kLine) {
      for (int p = 0; p < kPairs; ++p) __builtin_prefetch(next[p] + block);
      for (int64_t j = block; j < std::min(block + kLine, n_features); ++j)
        for (int p = 0; p < kPairs; ++p) total[p] += Term::of(a[p][j], b[p][j]);
    }
    std::copy(total, total + std::min<int64_t>(kPairs, n_pairs - first), sums + first);
  }
}

// Two ascending lists of features are merged without a branch that a processor could guess wrongly. What one row lacks is
// zero; a product with zero adds nothing.
template <class Term, class Number, class Index>
double sum_sparse(const Csr &left, int64_t left_row, const Csr &right, int64_t right_row) {
  const auto *a = static_cast<const Number *>(left.values), *b = static_cast<const Number *>(right.values);
  const auto *of_a = static_cast<const Index *>(left.features), *of_b = static_cast<const Index *>(right.features);
  const auto *a_starts = static_cast<const Index *>(left.starts), *b_starts = static_cast<const Index *>(right.starts);
  int64_t i = a_starts[left_row], j = b_starts[right_row];
  const int64_t a_end = a_starts[left_row + 1], b_end = b_starts[right_row + 1];
  double sum = 0;
  while (i < a_end && j < b_end) {
    const bool takes_a = of_a[i] <= of_b[j], takes_b = of_b[j] <= of_a[i];
    const double values_a[] = {0, a[i]}, values_b[] = {0, b[j]};
    sum += Term::of(values_a[takes_a], values_b[takes_b]);
    i += takes_a;
    j += takes_b;
  }
  for (; i < a_end; ++i) sum += Term::of(a[i], 0);
  for (; j < b_end; ++j) sum += Term::of(0, b[j]);
  return sum;
}

template <class Term, class Number, class Index>
void sum_sparse_pairs(const Csr &left, const Csr &right, const int64_t *left_rows, const int64_t *right_rows,
                      int64_t n_pairs, double *sums) {
  for (int64_t pair = 0; pair < n_pairs; ++pair)
    sums[pair] = sum_sparse<Term, Number, Index>(left, left_rows[pair], right, right_rows[pair]);
}

template <class Number, class Index>
void sum_sparse_pairs_of(int32_t kind, const Csr &left, const Csr &right, const int64_t *left_rows,
                         const int64_t *right_rows, int64_t n_pairs, double *sums) {
  if (kind == 0) sum_sparse_pairs<SquaredDifference, Number, Index>(left, right, left_rows, right_rows, n_pairs, sums);
  if (kind == 1) sum_sparse_pairs<Product, Number, Index>(left, right, left_rows, right_rows, n_pairs, sums);
}

}  // namespace

const SumsOfPairs kSumPairs = {
    {sum_pairs<SquaredDifference, float>, sum_pairs<SquaredDifference, double>},
    {sum_pairs<Product, float>, sum_pairs<Product, double>},
};

}  // namespace nearlabel

using namespace nearlabel;

int32_t nearlabel_sum_sparse_pairs(int32_t kind, int32_t is64, int32_t wide, const Csr *left, const Csr *right,
                                   const int64_t *left_rows, const int64_t *right_rows, int64_t n_pairs, double *sums) {
  if (kind < 0 || kind > 1) return -1;
  const auto sum = is64 != 0 ? (wide != 0 ? sum_sparse_pairs_of<double, int64_t> : sum_sparse_pairs_of<double, int32_t>)
                             : (wide != 0 ? sum_sparse_pairs_of<float, int64_t> : sum_sparse_pairs_of<float, int32_t>);
  sum(kind, *left, *right, left_rows, right_rows, n_pairs, sums);
  return 0;
}
