// Scores in float32, for any vector type (hits.h) that also has `store` and `add_product`. Rows of a block lie side by
// side, feature after feature; queries row after row.
#pragma once
#include <cstring>

#include "hits.h"
#include "unrolled.h"

namespace nearlabel {

template <class Vector, int Queries, int Vectors>
struct Float32 {
  static constexpr int kWidth = Vector::kWidth, kRows = Vectors * kWidth;

  static int32_t depth(int32_t n_features) { return n_features; }
  static int64_t bytes(int64_t n, int32_t depth, bool as_rows) {
    const int64_t of = as_rows ? kRows : Queries;
    return (n + of - 1) / of * of * depth * 4;
  }

  static float store(const double *point, int32_t n_features, double, bool as_rows, int64_t place, int32_t depth,
                     void *packed, double *stored) {
    float *to = static_cast<float *>(packed) + (as_rows ? place / kRows * kRows * depth + place % kRows : place * depth);
    const int64_t stride = as_rows ? kRows : 1;
    for (int32_t j = 0; j < n_features; ++j) stored[j] = to[j * stride] = static_cast<float>(point[j]);
    return 1;
  }

  static void copy(const void *from, int64_t place, void *to, int64_t new_place, int32_t depth) {
    std::memcpy(static_cast<float *>(to) + new_place * depth, static_cast<const float *>(from) + place * depth, 4 * depth);
  }

  template <bool kBoth>
  static bool score(const Block &rows, const Group &queries, float *scores, uint32_t *hits) {
    const float *block = static_cast<const float *>(rows.packed), *group = static_cast<const float *>(queries.packed);
    const int32_t depth = rows.depth;
    typename Vector::type sums[Queries * Vectors];
    unrolled<Queries>([&](auto q) NEARLABEL_INLINE {
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE { sums[q * Vectors + v] = Vector::load(rows.initial + v * kWidth); });
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
      hits[q] = 0;
      unrolled<Vectors>([&](auto v) NEARLABEL_INLINE {
        hits[q] |= hits_of<Vector, kBoth>(sums[q * Vectors + v], queries, q, v * kWidth) << (v * kWidth);
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

  static constexpr Level level(const Level *narrow) {
    return {Queries, kRows, depth, bytes, store, copy, score<false>, score<true>, nullptr, nullptr, narrow};
  }
};

}  // namespace nearlabel
