// Compiled with -mavx512f -mamx-tile -mamx-bf16 (with NEARLABEL_EMULATE_TILES without them).
//
// Four tiles of 16 queries x 16 rows hold sums, of two tiles of queries and two of rows: each tile that is loaded serves
// two products. The tile of rows has a pair of features in each of its lines, for 16 rows side by side.
#include <cstring>

#include "level.h"
#include "tiles.h"

namespace nearlabel {
namespace {

constexpr int kSide = 16, kFeatures = 32;  // of a tile: points, and numbers of 16 bits of each

// The nearest number of 8 significant bits, ties to even. Points are scaled, so there are neither infinities nor NaN.
inline uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float widened(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

struct Bf16 {
  using Start = FloatStart;
  static constexpr int64_t kQueries = 2 * kSide, kRows = 2 * kSide;

  static int32_t depth(int32_t n_features) { return (n_features + kFeatures - 1) / kFeatures * kFeatures; }
  static int64_t bytes(int64_t n, int32_t depth, bool) { return (n + kRows - 1) / kRows * kRows * depth * 2; }

  static double put(void *packed, int64_t point, int32_t feature, int32_t depth, bool as_rows, double value, double) {
    const uint16_t stored = to_bf16(static_cast<float>(value));
    const int64_t tile = (point / kSide * (depth / kFeatures) + feature / kFeatures) * kSide * kFeatures;
    const int64_t column = feature % kFeatures, side = point % kSide;
    const int64_t at = as_rows ? (column / 2 * kSide + side) * 2 + column % 2 : side * kFeatures + column;
    static_cast<uint16_t *>(packed)[tile + at] = stored;
    return widened(stored);
  }

  // Of queries: a point is a line in each of its tiles.
  static void copy(const void *from, int64_t point, void *to, int64_t place, int32_t depth) {
    for (int32_t first = 0; first < depth; first += kFeatures)
      std::memcpy(line(to, place, first, depth), line(const_cast<void *>(from), point, first, depth), kTileBytes);
  }

  static uint16_t *line(void *packed, int64_t point, int32_t feature, int32_t depth) {
    const int64_t tile = (point / kSide * (depth / kFeatures) + feature / kFeatures) * kSide;
    return static_cast<uint16_t *>(packed) + (tile + point % kSide) * kFeatures;
  }

  static bool score(const Points &rows, int64_t row, const void *queries, int64_t query, const Start &start,
                    const float *thresholds, float *scores, uint32_t *hits) {
    const int64_t depth = rows.depth, next = kSide * depth;  // numbers from one 16 points to the next
    const uint16_t *first_rows = static_cast<const uint16_t *>(rows.packed) + row * depth;
    const uint16_t *first_queries = static_cast<const uint16_t *>(queries) + query * depth;
    NEARLABEL_TILE_LOAD(0, start.values, 0);  // the same line 16 times
    NEARLABEL_TILE_LOAD(1, start.values + kSide, 0);
    NEARLABEL_TILE_LOAD(2, start.values, 0);
    NEARLABEL_TILE_LOAD(3, start.values + kSide, 0);
    for (int64_t at = 0; at < next; at += kSide * kFeatures) {
      NEARLABEL_TILE_LOAD(4, first_queries + at, kTileBytes);
      NEARLABEL_TILE_LOAD(6, first_rows + at, kTileBytes);
      NEARLABEL_TILE_LOAD(7, first_rows + next + at, kTileBytes);
      NEARLABEL_TILE_LOAD(5, first_queries + next + at, kTileBytes);
      NEARLABEL_TILE_ADD_PRODUCTS(0, 4, 6);
      NEARLABEL_TILE_ADD_PRODUCTS(1, 4, 7);
      NEARLABEL_TILE_ADD_PRODUCTS(2, 5, 6);
      NEARLABEL_TILE_ADD_PRODUCTS(3, 5, 7);
    }
    constexpr int64_t kLine = kRows * sizeof(float);
    NEARLABEL_TILE_STORE(0, scores, kLine);
    NEARLABEL_TILE_STORE(1, scores + kSide, kLine);
    NEARLABEL_TILE_STORE(2, scores + kSide * kRows, kLine);
    NEARLABEL_TILE_STORE(3, scores + kSide * kRows + kSide, kLine);
    return find_hits(scores, thresholds, hits);
  }

  static bool find_hits(const float *scores, const float *thresholds, uint32_t *hits);
};

#ifndef NEARLABEL_EMULATE_TILES
inline bool Bf16::find_hits(const float *scores, const float *thresholds, uint32_t *hits) {
  uint32_t any = 0;
#pragma GCC unroll 32
  for (int q = 0; q < kQueries; ++q) {
    const __m512 threshold = _mm512_set1_ps(thresholds[q]);
    const uint32_t low = _mm512_cmp_ps_mask(_mm512_load_ps(scores + q * kRows), threshold, _CMP_GE_OQ);
    const uint32_t high = _mm512_cmp_ps_mask(_mm512_load_ps(scores + q * kRows + kSide), threshold, _CMP_GE_OQ);
    hits[q] = low | high << kSide;
    any |= hits[q];
  }
  return any != 0;
}
#else
inline bool Bf16::find_hits(const float *scores, const float *thresholds, uint32_t *hits) {
  uint32_t any = 0;
  for (int q = 0; q < kQueries; ++q) {
    hits[q] = 0;
    for (int r = 0; r < kRows; ++r) hits[q] |= uint32_t{scores[q * kRows + r] >= thresholds[q]} << r;
    any |= hits[q];
  }
  return any != 0;
}
#endif

void offer_in_tiles(const Points &rows, const int64_t *numbers, const Points &queries, const uint8_t *takes,
                    const int64_t *own, const Lists &lists) {
  const Tiles tiles;
  offer<Bf16>(rows, numbers, queries, takes, own, lists);
}

}  // namespace

const LevelTable kBf16 = {Bf16::depth, Bf16::bytes, pack<Bf16>, offer_in_tiles};

}  // namespace nearlabel
