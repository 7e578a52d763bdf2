// Which levels the processor runs, and the functions that Python calls.
#include <algorithm>
#include <new>

#include "level.h"
#include "offer.h"
#include "points.h"
#include "sum_pairs.h"

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
const Level *level_of(int32_t number) {
  switch (number) {
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

const SparseLevel *sparse_level_of(int32_t number) {
  switch (number) {
#ifdef NEARLABEL_HAS_FLOAT32_AVX2
    case FLOAT32_AVX2: return &kSparseAvx2;
#endif
#ifdef NEARLABEL_HAS_FLOAT32_AVX512
    case FLOAT32_AVX512: return &kSparseAvx512;
#endif
#ifdef NEARLABEL_HAS_FLOAT32_NEON
    case FLOAT32_NEON: return &kSparseNeon;
#endif
    default: return nullptr;
  }
}

// All levels but that for tests take the fastest sums.
const SumsOfPairs &sums_of_pairs([[maybe_unused]] int32_t level) {
#ifdef NEARLABEL_HAS_SUM_PAIRS_AVX512
  if (level != HOSTILE && (nearlabel_levels() & 1u << FLOAT32_AVX512) != 0) return kSumPairsAvx512;
#endif
  return kSumPairs;
}

uint32_t find_levels() {
  uint32_t levels = levels_of_processor() | 1u << HOSTILE;
#ifdef NEARLABEL_EMULATE_TILES
  levels |= 1u << BF16;
#endif
  for (int32_t level = 0; level <= HOSTILE; ++level)
    if (level_of(level) == nullptr) levels &= ~(1u << level);
  return levels;
}

bool is_malformed(const Source &source) {
  return source.values == nullptr || source.rows == nullptr || source.centre == nullptr || source.n_features < 1;
}

bool is_malformed(const Points &points, const Level &level) {
  return points.n_points < 0 || points.n_features < 1 || points.depth != level.depth(points.n_features) ||
         points.packed == nullptr || points.units == nullptr || points.squares == nullptr || points.norms == nullptr ||
         points.rests == nullptr;
}

bool is_malformed(const SparseRows &rows) {
  return rows.n_points < 0 || rows.n_points > 1 << 16 || rows.n_features < 1 || rows.n_terms < 0 || rows.n_columns < 0 ||
         rows.stored == nullptr || rows.before == nullptr || rows.starts == nullptr || rows.columns == nullptr ||
         rows.squares == nullptr || rows.norms == nullptr || rows.rests == nullptr;
}

bool is_malformed(const SparseQueries &queries) {
  return queries.n_points < 0 || queries.starts == nullptr || queries.squares == nullptr || queries.norms == nullptr ||
         queries.rests == nullptr;
}

// Of fewer places no eighth would be left for those that come (candidates.h).
constexpr int32_t kLeastCapacity = 8;

bool is_malformed(const Lists &lists) {
  return lists.n_neighbors < 1 || lists.most < std::max(lists.n_neighbors, kLeastCapacity) || lists.room == nullptr ||
         lists.n_used == nullptr || lists.starts == nullptr || lists.capacities == nullptr;
}

bool are_malformed(const Lists &lists, const Lists *lists_of_rows, const int32_t *own) {
  if (is_malformed(lists)) return true;
  return lists_of_rows != nullptr && (is_malformed(*lists_of_rows) || own == nullptr || lists.exact != 0);
}

// An exception must not leave C++: memory that is not there is told by a code.
template <class Work>
int32_t guarded(const Work &work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc &) {
    return -2;
  }
}

}  // namespace
}  // namespace nearlabel

using namespace nearlabel;

uint32_t nearlabel_interface() { return kInterface; }

uint32_t nearlabel_levels() {
  static const uint32_t levels = find_levels();
  return levels;
}

int64_t nearlabel_packed_bytes(int32_t level, int32_t as_rows, int64_t n_points, int32_t n_features, int32_t *depth) {
  const auto *of = level_of(level);
  if (of == nullptr || n_points < 0 || n_features < 1) return -1;
  *depth = of->depth(n_features);
  return of->bytes(n_points, *depth, as_rows != 0);
}

int32_t nearlabel_squares(const Source *source, int64_t n_points, const double *centres, int32_t n_centres,
                          double *squares) {
  if (is_malformed(*source) || n_points < 0 || centres == nullptr || n_centres < 0) return -1;
  return guarded([&] { nearlabel::squares(*source, n_points, centres, n_centres, squares); });
}

int32_t nearlabel_pack(int32_t level, int32_t as_rows, const Source *source, const Points *points) {
  const auto *of = level_of(level);
  if (of == nullptr || (nearlabel_levels() & 1u << level) == 0) return -1;
  if (is_malformed(*source) || is_malformed(*points, *of) || source->n_features != points->n_features) return -1;
  return guarded([&] { pack(*of, as_rows != 0, *source, *points); });
}

int32_t nearlabel_offer(int32_t level, const Points *rows, const int32_t *numbers, const Points *queries,
                        const int32_t *places, const int32_t *own, const Lists *lists, const Lists *lists_of_rows) {
  const auto *of = level_of(level);
  if (of == nullptr || (nearlabel_levels() & 1u << level) == 0) return -1;
  if (is_malformed(*rows, *of) || is_malformed(*queries, *of) || rows->depth != queries->depth) return -1;
  if (are_malformed(*lists, lists_of_rows, own)) return -1;
  return guarded([&] { offer(*of, *rows, numbers, *queries, places, own, *lists, lists_of_rows); });
}

int32_t nearlabel_offer_panels(int32_t level, const Panels *panels, const int32_t *order, int64_t n_order,
                               const double *lower, const Points *queries, const Lists *lists) {
  const auto *of = level_of(level);
  if (of == nullptr || (nearlabel_levels() & 1u << level) == 0) return -1;
  if (panels->n_panels < 0 || order == nullptr || lower == nullptr || is_malformed(*queries, *of)) return -1;
  if (is_malformed(*lists)) return -1;
  for (int64_t i = 0; i < n_order; ++i) {
    if (order[i] < 0 || order[i] >= panels->n_panels) return -1;
    const Points &rows = *panels->rows[order[i]];
    if (is_malformed(rows, *of) || rows.depth != queries->depth) return -1;
  }
  return guarded([&] { offer(*of, *panels, order, n_order, lower, *queries, *lists); });
}

int32_t nearlabel_offer_sparse(int32_t level, const SparseRows *rows, const int32_t *numbers,
                               const SparseQueries *queries, const int32_t *places, const int32_t *own,
                               const Lists *lists, const Lists *lists_of_rows) {
  const auto *of = sparse_level_of(level);
  if (of == nullptr || (nearlabel_levels() & 1u << level) == 0) return -1;
  if (is_malformed(*rows) || is_malformed(*queries) || are_malformed(*lists, lists_of_rows, own)) return -1;
  return guarded([&] { offer(*of, *rows, numbers, *queries, places, own, *lists, lists_of_rows); });
}

int32_t nearlabel_sum_pairs(int32_t level, int32_t kind, int32_t is64, const void *left, const void *right,
                            int64_t n_features, const int64_t *left_rows, const int64_t *right_rows, int64_t n_pairs,
                            double *sums) {
  if (kind < 0 || kind > 1) return -1;
  sums_of_pairs(level)[kind][is64 != 0](left, right, n_features, left_rows, right_rows, n_pairs, sums);
  return 0;
}
