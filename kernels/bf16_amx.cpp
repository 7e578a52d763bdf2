// Compiled with -mavx512f -mamx-tile -mamx-bf16 (with NEARLABEL_EMULATE_TILES without them).
//
// Four tiles of 16 queries x 16 rows hold sums, of two tiles of queries and two of rows: each tile that is loaded serves
// two products. The tile of rows has a pair of features in each of its lines, for 16 rows side by side.
#include <cstring>

#include "hits.h"
#include "tiles.h"
#ifdef NEARLABEL_EMULATE_TILES
#include "scalar.h"
#else
#include "avx512.h"
#endif

namespace nearlabel {
namespace {

#ifdef NEARLABEL_EMULATE_TILES
using Vector = Scalar;
#else
using Vector = Avx512;
#endif

constexpr int kSide = 16, kFeatures = 32;  // of a tile: points, and numbers of 16 bits of each
constexpr int kQueries = 2 * kSide, kRows = 2 * kSide;

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

int32_t depth(int32_t n_features) { return (n_features + kFeatures - 1) / kFeatures * kFeatures; }
int64_t bytes(int64_t n, int32_t depth, bool) { return (n + kRows - 1) / kRows * kRows * depth * 2; }

uint16_t *tile_of(void *packed, int64_t place, int32_t feature, int32_t depth) {
  return static_cast<uint16_t *>(packed) + (place / kSide * (depth / kFeatures) + feature / kFeatures) * kSide * kFeatures;
}

float store(const double *point, int32_t n_features, double, bool as_rows, int64_t place, int32_t depth, void *packed,
            double *stored) {
  const int64_t side = place % kSide;
  for (int32_t j = 0; j < n_features; ++j) {
    const uint16_t half = to_bf16(static_cast<float>(point[j]));
    const int64_t column = j % kFeatures, at = as_rows ? (column / 2 * kSide + side) * 2 + column % 2 : side * kFeatures + column;
    tile_of(packed, place, j, depth)[at] = half;
    stored[j] = widened(half);
  }
  return 1;
}

// A query is a line in each of its tiles.
void copy(const void *from, int64_t place, void *to, int64_t new_place, int32_t depth) {
  for (int32_t first = 0; first < depth; first += kFeatures)
    std::memcpy(tile_of(to, new_place, first, depth) + new_place % kSide * kFeatures,
                tile_of(const_cast<void *>(from), place, first, depth) + place % kSide * kFeatures, kTileBytes);
}

template <bool kBoth>
bool score(const Block &rows, const Group &queries, float *scores, uint32_t *hits) {
  const int64_t next = int64_t{kSide} * rows.depth;  // numbers from one 16 points to the next
  const uint16_t *first_rows = static_cast<const uint16_t *>(rows.packed);
  const uint16_t *first_queries = static_cast<const uint16_t *>(queries.packed);
  NEARLABEL_TILE_LOAD(0, rows.initial, 0);  // the same line 16 times
  NEARLABEL_TILE_LOAD(1, rows.initial + kSide, 0);
  NEARLABEL_TILE_LOAD(2, rows.initial, 0);
  NEARLABEL_TILE_LOAD(3, rows.initial + kSide, 0);
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
  return find_hits<Vector, kBoth>(scores, queries, kQueries, kRows, hits);
}

void begin() { configure_tiles(); }
void end() { release_tiles(); }

}  // namespace

const Level kBf16 = {kQueries, kRows, depth, bytes, store, copy, score<false>, score<true>, begin, end, nullptr};

}  // namespace nearlabel
