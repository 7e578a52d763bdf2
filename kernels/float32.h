// Scores in float32, for any vector type: `Vector` has `type`, `kWidth`, `load`, `store`, `fill`, `add_product`,
// `at_least` (a bit for each entry). Rows of a block lie side by side, feature after feature; queries row after row.
#pragma once
#include <cstring>

#include "offer.h"
#include "unrolled.h"

namespace nearlabel {

template <class Vector, int Queries, int Vectors>
struct Float32 {
  using Start = FloatStart;
  static constexpr int kWidth = Vector::kWidth;
  static constexpr int64_t kQueries = Queries, kRows = Vectors * kWidth;

  static int32_t depth(int32_t n_features) { return n_features; }
  static int64_t bytes(int64_t n, int32_t depth, bool as_rows) {
    const int64_t of = as_rows ? kRows : kQueries;
    return (n + of - 1) / of * of * depth * 4;
  }

  static double put(void *packed, int64_t point, int32_t feature, int32_t depth, bool as_rows, double value, double) {
    const float stored = static_cast<float>(value);
    const int64_t at = as_rows ? (point / kRows * depth + feature) * kRows + point % kRows : point * depth + feature;
    static_cast<float *>(packed)[at] = stored;
    return stored;
  }

  static void copy(const void *from, int64_t point, void *to, int64_t place, int32_t depth) {
    std::memcpy(static_cast<float *>(to) + place * depth, static_cast<const float *>(from) + point * depth, 4 * depth);
  }

  static bool score(const Points &rows, int64_t row, const void *queries, int64_t query, const Start &start,
                    const float *thresholds, float *scores, uint32_t *hits) {
    const int32_t depth = rows.depth;
    const float *block = static_cast<const float *>(rows.packed) + row * depth;
    const float *group = static_cast<const float *>(queries) + query * depth;
    typename Vector::type sums[Queries * Vectors];
    unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE { sums[q * Vectors + v] = Vector::load(start.values + v * kWidth); });
    });
    for (int32_t j = 0; j < depth; ++j) {
      typename Vector::type of_rows[Vectors];
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE { of_rows[v] = Vector::load(block + j * kRows + v * kWidth); });
      unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
        const auto of_query = Vector::fill(group[q * depth + j]);
        unrolled<Vectors>([&](auto v) NEARLABEL_INLINE {
          sums[q * Vectors + v] = Vector::add_product(of_query, of_rows[v], sums[q * Vectors + v]);
        });
      });
    }
    uint32_t any = 0;
    unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
      const auto threshold = Vector::fill(thresholds[q]);
      hits[q] = 0;
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE {
        hits[q] |= Vector::at_least(sums[q * Vectors + v], threshold) << (v * kWidth);
      });
      any |= hits[q];
    });
    if (any == 0) return false;
    unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE {
        Vector::store(scores + q * kRows + v * kWidth, sums[q * Vectors + v]);
      });
    });
    return true;
  }
};

}  // namespace nearlabel
