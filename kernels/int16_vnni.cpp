// Compiled with -mavx512f -mavx512vnni.
#include <immintrin.h>

#include <cstring>

#include "int16.h"
#include "level.h"
#include "unrolled.h"

namespace nearlabel {
namespace {

constexpr int kWidth = 16;  // numbers of 32 bits in a register

struct Int16 : Int16Storage<12, 2 * kWidth> {
  // Initial values in units of products, rounded up. Units are such (_kernel_search.py) that none exceeds 2^30; padding
  // stays far below every sum of products.
  struct Start {
    static double step(double unit) { return unit; }
    Start(const float *initial, double unit) : unit(static_cast<float>(unit)) {
      constexpr double kMost = 0x1p30;
      for (int i = 0; i < kRows; ++i)
        whole[i] = static_cast<int32_t>(std::ceil(std::min(kMost, std::max(-kMost, initial[i] / unit))));
    }
    alignas(64) int32_t whole[kRows];
    float unit;
  };

  static bool score(const Points &rows, int64_t row, const void *queries, int64_t query, const Start &start,
                    const float *thresholds, float *scores, uint32_t *hits) {
    const int32_t pairs = rows.depth / 2;
    const int16_t *block = static_cast<const int16_t *>(rows.packed) + row * rows.depth;
    const int16_t *group = static_cast<const int16_t *>(queries) + query * rows.depth;
    __m512i left[kQueries], right[kQueries];  // sums of the first 16 rows, and of the others
    unrolled<kQueries>([&](auto q) NEARLABEL_INLINE {
      left[q] = _mm512_load_si512(start.whole);
      right[q] = _mm512_load_si512(start.whole + kWidth);
    });
    for (int32_t j = 0; j < pairs; ++j) {
      const __m512i of_left = _mm512_loadu_si512(block + j * kRows * 2);
      const __m512i of_right = _mm512_loadu_si512(block + j * kRows * 2 + 2 * kWidth);
      unrolled<kQueries>([&](auto q) NEARLABEL_INLINE {
        int32_t pair;
        std::memcpy(&pair, group + q * rows.depth + 2 * j, sizeof pair);
        const __m512i of_query = _mm512_set1_epi32(pair);
        left[q] = _mm512_dpwssd_epi32(left[q], of_query, of_left);
        right[q] = _mm512_dpwssd_epi32(right[q], of_query, of_right);
      });
    }
    const __m512 in_units = _mm512_set1_ps(start.unit);
    uint32_t any = 0;
    unrolled<kQueries>([&](auto q) NEARLABEL_INLINE {
      const __m512 threshold = _mm512_set1_ps(thresholds[q]);
      const __m512 low = _mm512_mul_ps(_mm512_cvtepi32_ps(left[q]), in_units);
      const __m512 high = _mm512_mul_ps(_mm512_cvtepi32_ps(right[q]), in_units);
      hits[q] = uint32_t{_mm512_cmp_ps_mask(low, threshold, _CMP_GE_OQ)} |
                uint32_t{_mm512_cmp_ps_mask(high, threshold, _CMP_GE_OQ)} << kWidth;
      any |= hits[q];
    });
    if (any == 0) return false;
    unrolled<kQueries>([&](auto q) NEARLABEL_INLINE {
      _mm512_storeu_ps(scores + q * kRows, _mm512_mul_ps(_mm512_cvtepi32_ps(left[q]), in_units));
      _mm512_storeu_ps(scores + q * kRows + kWidth, _mm512_mul_ps(_mm512_cvtepi32_ps(right[q]), in_units));
    });
    return true;
  }
};

}  // namespace

const LevelTable kInt16 = table_of<Int16>();

}  // namespace nearlabel
