// The comparison of scores with the least scores of candidates (level.h), for any vector type: `Vector` has `type`,
// `kWidth`, `load`, `fill`, `add`, `smaller` and `at_least`, which gives a bit for each entry.
#pragma once
#include "level.h"

namespace nearlabel {

template <class Vector, bool kBoth>
inline __attribute__((always_inline)) uint32_t hits_of(typename Vector::type scores, const Group &queries, int q,
                                                       int first_row) {
  auto threshold = Vector::fill(queries.of_queries[q]);
  if constexpr (kBoth)
    threshold = Vector::smaller(
        threshold, Vector::add(Vector::fill(queries.halves[q]), Vector::load(queries.of_rows + first_row)));
  return Vector::at_least(scores, threshold);
}

// The same for scores in memory.
template <class Vector, bool kBoth>
inline __attribute__((always_inline)) bool find_hits(const float *scores, const Group &queries, int n_queries, int n_rows,
                                                     uint32_t *hits) {
  uint32_t any = 0;
  for (int q = 0; q < n_queries; ++q) {
    hits[q] = 0;
    for (int r = 0; r < n_rows; r += Vector::kWidth)
      hits[q] |= hits_of<Vector, kBoth>(Vector::load(scores + q * n_rows + r), queries, q, r) << r;
    any |= hits[q];
  }
  return any != 0;
}

}  // namespace nearlabel
