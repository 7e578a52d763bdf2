// Which levels the processor runs, and the functions that Python calls.
#include "level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace nearlabel {
namespace {

#if defined(__x86_64__)

// The system must save a register when it switches threads, or it must not be used.
bool system_saves(uint32_t components) {
  uint32_t a, d;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & components) == components;
}

// Linux gives a process the tile registers when it asks for them.
bool system_gives_tiles() {
#if defined(__linux__)
  constexpr long kRequest = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

uint32_t levels_of_processor() {
  uint32_t a, b, c, d, levels = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  const bool fma = (c & bit_FMA) != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0;
  constexpr uint32_t kAvx = 0x6, kAvx512 = 0xe6;
  if (fma && (b & bit_AVX2) != 0 && system_saves(kAvx)) levels |= 1u << FLOAT32_AVX2;
  if ((b & bit_AVX512F) != 0 && system_saves(kAvx512)) {
    levels |= 1u << FLOAT32_AVX512;
    if ((c & (1u << 11)) != 0) levels |= 1u << INT16;  // AVX512-VNNI
    const bool tiles = (d & (1u << 24)) != 0 && (d & (1u << 22)) != 0;  // AMX-TILE, AMX-BF16
    if (tiles && system_gives_tiles()) levels |= 1u << BF16;
  }
  return levels;
}

#elif defined(__aarch64__)
uint32_t levels_of_processor() { return 1u << FLOAT32_NEON; }
#else
uint32_t levels_of_processor() { return 0; }
#endif

// A level that the compiler could not make is not there.
const LevelTable *table_of_level(int32_t level) {
  switch (level) {
#ifdef NEARLABEL_HAS_FLOAT32_AVX2
    case FLOAT32_AVX2: return &kFloat32Avx2;
#endif
#ifdef NEARLABEL_HAS_FLOAT32_AVX512
    case FLOAT32_AVX512: return &kFloat32Avx512;
#endif
#ifdef NEARLABEL_HAS_INT16
    case INT16: return &kInt16;
#endif
#ifdef NEARLABEL_HAS_BF16
    case BF16: return &kBf16;
#endif
#ifdef NEARLABEL_HAS_FLOAT32_NEON
    case FLOAT32_NEON: return &kFloat32Neon;
#endif
    case HOSTILE: return &kHostile;
    default: return nullptr;
  }
}

uint32_t find_levels() {
  uint32_t levels = levels_of_processor() | 1u << HOSTILE;
#ifdef NEARLABEL_EMULATE_TILES
  levels |= 1u << BF16;
#endif
  for (int32_t level = 0; level <= HOSTILE; ++level)
    if (table_of_level(level) == nullptr) levels &= ~(1u << level);
  return levels;
}

bool is_malformed(const Points &points) {
  return points.n_points < 0 || points.depth < points.n_features || points.n_features < 1 || !(points.unit > 0) ||
         points.packed == nullptr || points.squares == nullptr || points.norms == nullptr || points.rests == nullptr;
}

}  // namespace
}  // namespace nearlabel

using nearlabel::table_of_level;

uint32_t nearlabel_interface() { return kInterface; }

uint32_t nearlabel_levels() {
  static const uint32_t levels = nearlabel::find_levels();
  return levels;
}

int64_t nearlabel_packed_bytes(int32_t level, int32_t as_rows, int64_t n_points, int32_t n_features, int32_t *depth) {
  const auto *table = table_of_level(level);
  if (table == nullptr || n_points < 0 || n_features < 1) return -1;
  *depth = table->depth(n_features);
  return table->bytes(n_points, *depth, as_rows != 0);
}

int32_t nearlabel_pack(int32_t level, int32_t as_rows, const double *points, int64_t n, int64_t start, int32_t n_features,
                       double unit, void *packed, double *squares, float *norms, float *rests) {
  const auto *table = table_of_level(level);
  if (table == nullptr || n < 0 || start < 0 || n_features < 1 || !(unit > 0)) return -1;
  table->pack(as_rows != 0, points, n, start, n_features, unit, packed, squares, norms, rests);
  return 0;
}

int32_t nearlabel_offer(int32_t level, const Points *rows, const int64_t *numbers, const Points *queries,
                        const uint8_t *takes, const int64_t *own, const Lists *lists) {
  const auto *table = table_of_level(level);
  if (table == nullptr || (nearlabel_levels() & 1u << level) == 0) return -1;
  if (nearlabel::is_malformed(*rows) || nearlabel::is_malformed(*queries) || rows->depth != queries->depth) return -1;
  if (lists->n_neighbors < 1 || lists->capacity < lists->n_neighbors) return -1;
  table->offer(*rows, numbers, *queries, takes, own, *lists);
  return 0;
}
