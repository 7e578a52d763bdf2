// The tile registers of AMX, or, where NEARLABEL_EMULATE_TILES is defined, the same in plain C++: so the order of the
// packed numbers and the arithmetic are tested on processors without them.
#pragma once
#include <cstdint>
#include <cstring>

#ifndef NEARLABEL_EMULATE_TILES
#include <immintrin.h>
#endif

namespace nearlabel {
namespace {

constexpr int kTileRows = 16, kTileBytes = 64;

#ifndef NEARLABEL_EMULATE_TILES

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

// Give all eight tiles 16 rows of 64 bytes, for this thread.
inline void configure_tiles() {
  TileShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.bytes[i] = kTileBytes;
    shapes.rows[i] = kTileRows;
  }
  _tile_loadconfig(&shapes);
}
inline void release_tiles() { _tile_release(); }

#define NEARLABEL_TILE_LOAD(tile, from, stride) _tile_loadd(tile, from, stride)
#define NEARLABEL_TILE_STORE(tile, to, stride) _tile_stored(tile, to, stride)
#define NEARLABEL_TILE_ADD_PRODUCTS(sum, left, right) _tile_dpbf16ps(sum, left, right)

#else

class Tiles {
 public:
  static unsigned char *tile(int number) { return memory() + number * kTileRows * kTileBytes; }

  static void load(int number, const void *from, int64_t stride) {
    for (int row = 0; row < kTileRows; ++row)
      std::memcpy(tile(number) + row * kTileBytes, static_cast<const char *>(from) + row * stride, kTileBytes);
  }
  static void store(int number, void *to, int64_t stride) {
    for (int row = 0; row < kTileRows; ++row)
      std::memcpy(static_cast<char *>(to) + row * stride, tile(number) + row * kTileBytes, kTileBytes);
  }
  // sum[m][n] += left[m][2k] right[k][2n] + left[m][2k + 1] right[k][2n + 1], of bf16 into float32.
  static void add_products(int sum, int left, int right) {
    for (int m = 0; m < kTileRows; ++m)
      for (int n = 0; n < kTileRows; ++n) {
        float total;
        unsigned char *at = tile(sum) + m * kTileBytes + n * 4;
        std::memcpy(&total, at, 4);
        for (int k = 0; k < kTileRows; ++k)
          for (int half = 0; half < 2; ++half)
            total += widened(tile(left) + m * kTileBytes + 4 * k + 2 * half) *
                     widened(tile(right) + k * kTileBytes + 4 * n + 2 * half);
        std::memcpy(at, &total, 4);
      }
  }

 private:
  static unsigned char *memory() {
    alignas(64) static thread_local unsigned char bytes[8 * kTileRows * kTileBytes];
    return bytes;
  }
  static float widened(const unsigned char *from) {
    uint16_t half;
    std::memcpy(&half, from, 2);
    const uint32_t bits = uint32_t{half} << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
};

inline void configure_tiles() {}
inline void release_tiles() {}

#define NEARLABEL_TILE_LOAD(tile, from, stride) Tiles::load(tile, from, stride)
#define NEARLABEL_TILE_STORE(tile, to, stride) Tiles::store(tile, to, stride)
#define NEARLABEL_TILE_ADD_PRODUCTS(sum, left, right) Tiles::add_products(sum, left, right)

#endif

}  // namespace
}  // namespace nearlabel
