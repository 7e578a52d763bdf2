// Whole numbers of 16 bits. Compiled with -mavx512f -mavx512vnni.
//
// A coordinate is rounded to a multiple of its point's own unit, which is such that the stored vector is at most
// 46340 < 2^15.5 long. By Cauchy and Schwarz no sum of products, partial ones included, leaves 32 bits: it is exact.
// Features lie in pairs, since an instruction adds the products of pairs.
#include <cmath>
#include <cstring>

#include "avx512.h"
#include "hits.h"
#include "unrolled.h"

namespace nearlabel {
namespace {

constexpr int kWidth = Avx512::kWidth, kQueries = 12, kFewQueries = 4, kRows = 2 * kWidth;
constexpr double kLongest = 46340, kMost = 32767;  // of a stored vector, and of its coordinates
constexpr double kLeastUnit = 0x1p-100;

int32_t depth(int32_t n_features) { return (n_features + 1) / 2 * 2; }

template <int Queries>
int64_t bytes(int64_t n, int32_t depth, bool as_rows) {
  const int64_t of = as_rows ? kRows : Queries;
  return (n + of - 1) / of * of * depth * 2;
}

// Rounding makes a vector longer, by at most half of a unit in each coordinate.
float unit_of(const double *point, int32_t n_features, double norm) {
  double largest = 0;
  for (int32_t j = 0; j < n_features; ++j) largest = std::fabs(point[j]) > largest ? std::fabs(point[j]) : largest;
  const double for_length = norm / (kLongest - 1 - std::sqrt(n_features) / 2), for_most = largest / kMost;
  const double unit = for_length > for_most ? for_length : for_most;
  return static_cast<float>((unit > kLeastUnit ? unit : kLeastUnit) * (1 + 0x1p-22));  // float32 may round down
}

float store(const double *point, int32_t n_features, double norm, bool as_rows, int64_t place, int32_t depth,
            void *packed, double *stored) {
  const float unit = unit_of(point, n_features, norm);
  const double per_unit = 1 / double{unit};
  for (int32_t j = 0; j < n_features; ++j) stored[j] = std::nearbyint(point[j] * per_unit);
  const int64_t first = as_rows ? place / kRows * kRows * depth + place % kRows * 2 : place * depth;
  const int64_t stride = as_rows ? 2 * kRows : 2;  // from a pair to the next
  int16_t *to = static_cast<int16_t *>(packed) + first;
  for (int32_t j = 0; j < n_features; j += 2) {
    to[j / 2 * stride] = static_cast<int16_t>(stored[j]);
    to[j / 2 * stride + 1] = j + 1 < n_features ? static_cast<int16_t>(stored[j + 1]) : int16_t{0};
  }
  for (int32_t j = 0; j < n_features; ++j) stored[j] *= unit;
  return unit;
}

void copy(const void *from, int64_t place, void *to, int64_t new_place, int32_t depth) {
  std::memcpy(static_cast<int16_t *>(to) + new_place * depth, static_cast<const int16_t *>(from) + place * depth, 2 * depth);
}

template <int Queries, bool kBoth>
bool score(const Block &rows, const Group &queries, float *scores, uint32_t *hits) {
  const int16_t *block = static_cast<const int16_t *>(rows.packed), *group = static_cast<const int16_t *>(queries.packed);
  const int32_t depth = rows.depth, pairs = depth / 2;
  __m512i left[Queries], right[Queries];  // sums of the first 16 rows, and of the others
  unrolled<Queries>([&](auto q) NEARLABEL_INLINE { left[q] = right[q] = _mm512_setzero_si512(); });
  for (int32_t j = 0; j < pairs; ++j) {
    const __m512i of_left = _mm512_loadu_si512(block + j * kRows * 2);
    const __m512i of_right = _mm512_loadu_si512(block + j * kRows * 2 + 2 * kWidth);
    unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
      int32_t pair;
      std::memcpy(&pair, group + q * depth + 2 * j, sizeof pair);
      const __m512i of_query = _mm512_set1_epi32(pair);
      left[q] = _mm512_dpwssd_epi32(left[q], of_query, of_left);
      right[q] = _mm512_dpwssd_epi32(right[q], of_query, of_right);
    });
  }
  const auto in_units = [&](__m512i sum, int q, int first) NEARLABEL_INLINE {
    const __m512 unit = _mm512_mul_ps(_mm512_set1_ps(queries.units[q]), Avx512::load(rows.units + first));
    return Avx512::add_product(_mm512_cvtepi32_ps(sum), unit, Avx512::load(rows.initial + first));
  };
  uint32_t any = 0;
  unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
    hits[q] = hits_of<Avx512, kBoth>(in_units(left[q], q, 0), queries, q, 0) |
              hits_of<Avx512, kBoth>(in_units(right[q], q, kWidth), queries, q, kWidth) << kWidth;
    any |= hits[q];
  });
  if (any == 0) return false;
  unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
    Avx512::store(scores + q * kRows, in_units(left[q], q, 0));
    Avx512::store(scores + q * kRows + kWidth, in_units(right[q], q, kWidth));
  });
  return true;
}

template <int Queries>
constexpr Level of_groups(const Level *narrow) {
  return {Queries, kRows,   depth,   bytes<Queries>, store, copy, score<Queries, false>, score<Queries, true>,
          nullptr, nullptr, narrow};
}

const Level kNarrow = of_groups<kFewQueries>(nullptr);

}  // namespace

const Level kInt16 = of_groups<kQueries>(&kNarrow);

}  // namespace nearlabel
