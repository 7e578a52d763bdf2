// A run of sparse rows and a query, for any vector type (hits.h) that also has `store` and `add_product`.
#pragma once
#include "hits.h"
#include "unrolled.h"

namespace nearlabel {

template <class Vector>
struct SparseRun {
  template <bool kBoth>
  static uint64_t score(const float *block, const Column *columns, int32_t n_columns, const Group &query, float *scores) {
    constexpr int kWidth = Vector::kWidth, kVectors = kRun / kWidth;
    typename Vector::type sums[kVectors];
    unrolled<kVectors>([&](auto v) NEARLABEL_INLINE { sums[v] = Vector::load(scores + v * kWidth); });
    for (int32_t c = 0; c < n_columns; ++c) {
      const float *column = block + columns[c].place * kRun;
      const auto factor = Vector::fill(columns[c].factor);
      unrolled<kVectors>([&](auto v) NEARLABEL_INLINE {
        sums[v] = Vector::add_product(factor, Vector::load(column + v * kWidth), sums[v]);
      });
    }
    uint64_t hits = 0;
    unrolled<kVectors>([&](auto v) NEARLABEL_INLINE {
      Vector::store(scores + v * kWidth, sums[v]);
      hits |= uint64_t{hits_of<Vector, kBoth>(sums[v], query, 0, v * kWidth)} << (v * kWidth);
    });
    return hits;
  }

  static constexpr SparseLevel level() { return {score<false>, score<true>}; }
};

}  // namespace nearlabel
