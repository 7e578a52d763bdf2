// The table of functions of a level, which each level's file fills: only that file is compiled for its instructions.
#pragma once
#include <cmath>
#include <cstring>

#include "offer.h"

namespace nearlabel {

struct LevelTable {
  int32_t (*depth)(int32_t n_features);
  int64_t (*bytes)(int64_t n, int32_t depth, bool as_rows);
  void (*pack)(bool as_rows, const double *points, int64_t n, int64_t start, int32_t n_features, double unit,
               void *packed, double *squares, float *norms, float *rests);
  void (*offer)(const Points &rows, const int64_t *numbers, const Points &queries, const uint8_t *takes,
                const int64_t *own, const Lists &lists);
};

// `put` stores a coordinate and returns what it stored.
template <class Level>
void pack(bool as_rows, const double *points, int64_t n, int64_t start, int32_t n_features, double unit, void *packed,
          double *squares, float *norms, float *rests) {
  const int32_t depth = Level::depth(n_features);
  for (int64_t i = 0; i < n; ++i) {
    double square = 0, rest = 0;
    for (int32_t j = 0; j < n_features; ++j) {
      const double value = points[i * n_features + j];
      const double dropped = value - Level::put(packed, start + i, j, depth, as_rows, value, unit);
      square += value * value;
      rest += dropped * dropped;
    }
    const double above = 1 + (n_features + 16) * 0x1p-52;  // both sums are rounded
    squares[start + i] = square;
    norms[start + i] = round_up(std::sqrt(square) * above);
    rests[start + i] = round_up(std::sqrt(rest) * above);
  }
}

template <class Level>
void offer(const Points &rows, const int64_t *numbers, const Points &queries, const uint8_t *takes, const int64_t *own,
           const Lists &lists) {
  Offer<Level>(rows, numbers, queries, takes, own, lists).run();
}

template <class Level>
constexpr LevelTable table_of() {
  return {Level::depth, Level::bytes, pack<Level>, offer<Level>};
}

extern const LevelTable kFloat32Avx2, kFloat32Avx512, kInt16, kBf16, kFloat32Neon, kHostile;

}  // namespace nearlabel
