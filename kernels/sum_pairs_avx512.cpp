// The sums of sum_pairs.cpp by AVX-512, to the same bits. Compiled with -mavx512f -ffp-contract=off.
//
// The terms of eight pairs and eight features are computed pair by pair and transposed, so that each pair is summed by
// itself, feature after feature. Terms beyond the last feature are zeros, which add nothing.
#include <immintrin.h>

#include "sum_pairs.h"
#include "unrolled.h"

namespace nearlabel {
namespace {

constexpr int kWidth = 8;

struct SquaredDifference {
  static __m512d of(__m512d a, __m512d b) { return _mm512_mul_pd(_mm512_sub_pd(a, b), _mm512_sub_pd(a, b)); }
};
struct Product {
  static __m512d of(__m512d a, __m512d b) { return _mm512_mul_pd(a, b); }
};

__mmask8 first_of(int64_t n) { return n < kWidth ? (1 << n) - 1 : 0xff; }

__m512d load(const double *from, __mmask8 which) { return _mm512_maskz_loadu_pd(which, from); }
__m512d load(const float *from, __mmask8 which) {
  return _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps(which, from)));
}

// Of the even (lane 0, 2 ...) or odd features of eight pairs, in four registers of two pairs each.
void transpose(const __m512d *pairs, __m512d *features) {
  const __m512d low[] = {_mm512_shuffle_f64x2(pairs[0], pairs[2], 0x88), _mm512_shuffle_f64x2(pairs[4], pairs[6], 0x88)};
  const __m512d high[] = {_mm512_shuffle_f64x2(pairs[0], pairs[2], 0xdd), _mm512_shuffle_f64x2(pairs[4], pairs[6], 0xdd)};
  features[0] = _mm512_shuffle_f64x2(low[0], low[1], 0x88);
  features[2] = _mm512_shuffle_f64x2(high[0], high[1], 0x88);
  features[4] = _mm512_shuffle_f64x2(low[0], low[1], 0xdd);
  features[6] = _mm512_shuffle_f64x2(high[0], high[1], 0xdd);
}

template <class Term, class Number>
void sum_pairs(const void *left, const void *right, int64_t n_features, const int64_t *left_rows,
               const int64_t *right_rows, int64_t n_pairs, double *sums) {
  for (int64_t first = 0; first < n_pairs; first += kWidth) {
    const Number *a[kWidth], *b[kWidth], *next[kWidth];
    for (int64_t p = 0; p < kWidth; ++p) {
      const int64_t pair = first + p < n_pairs ? first + p : n_pairs - 1;
      const int64_t later = first + p + kWidth < n_pairs ? first + p + kWidth : n_pairs - 1;
      next[p] = static_cast<const Number *>(right) + right_rows[later] * n_features;
      a[p] = static_cast<const Number *>(left) + left_rows[pair] * n_features;
      b[p] = static_cast<const Number *>(right) + right_rows[pair] * n_features;
    }
    __m512d total = _mm512_setzero_pd();
    for (int64_t j = 0; j < n_features; j += kWidth) {
      const __mmask8 which = first_of(n_features - j);
      unrolled<kWidth>([&](auto p) NEARLABEL_INLINE { _mm_prefetch(reinterpret_cast<const char *>(next[p] + j), _MM_HINT_T0); });
      __m512d terms[kWidth], by_two[kWidth], features[kWidth];
      unrolled<kWidth>([&](auto p) NEARLABEL_INLINE { terms[p] = Term::of(load(a[p] + j, which), load(b[p] + j, which)); });
      unrolled<kWidth / 2>([&](auto p) NEARLABEL_INLINE {
        by_two[2 * p] = _mm512_unpacklo_pd(terms[2 * p], terms[2 * p + 1]);
        by_two[2 * p + 1] = _mm512_unpackhi_pd(terms[2 * p], terms[2 * p + 1]);
      });
      transpose(by_two, features);
      transpose(by_two + 1, features + 1);
      unrolled<kWidth>([&](auto f) NEARLABEL_INLINE { total = _mm512_add_pd(total, features[f]); });
    }
    _mm512_mask_storeu_pd(sums + first, first_of(n_pairs - first), total);
  }
}

}  // namespace

const SumsOfPairs kSumPairsAvx512 = {
    {sum_pairs<SquaredDifference, float>, sum_pairs<SquaredDifference, double>},
    {sum_pairs<Product, float>, sum_pairs<Product, double>},
};

}  // namespace nearlabel
