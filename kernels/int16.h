// How whole numbers of 16 bits are stored: pairs of features side by side, since instructions add products of pairs.
//
// A coordinate is rounded to a multiple of its panel's unit. Units are chosen (_kernels.py) so that no sum of products,
// together with its initial value, leaves 32 bits: it is exact.
#pragma once
#include <cmath>
#include <cstring>

#include "offer.h"

namespace nearlabel {

template <int64_t Queries, int64_t Rows>
struct Int16Storage {
  static constexpr int64_t kQueries = Queries, kRows = Rows;

  static int32_t depth(int32_t n_features) { return (n_features + 1) / 2 * 2; }
  static int64_t bytes(int64_t n, int32_t depth, bool as_rows) {
    const int64_t of = as_rows ? kRows : kQueries;
    return (n + of - 1) / of * of * depth * 2;
  }

  static double put(void *packed, int64_t point, int32_t feature, int32_t depth, bool as_rows, double value,
                    double unit) {
    const double whole = std::nearbyint(value / unit);
    const int64_t pair = feature / 2, half = feature % 2;
    const int64_t at = as_rows ? ((point / kRows * (depth / 2) + pair) * kRows + point % kRows) * 2 + half
                               : point * depth + feature;
    static_cast<int16_t *>(packed)[at] = static_cast<int16_t>(whole);
    return whole * unit;
  }

  static void copy(const void *from, int64_t point, void *to, int64_t place, int32_t depth) {
    std::memcpy(static_cast<int16_t *>(to) + place * depth, static_cast<const int16_t *>(from) + point * depth, 2 * depth);
  }
};

}  // namespace nearlabel
