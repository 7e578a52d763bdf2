// What the kernels and their callers share: plain C structures, filled by Python (src/nearlabel/neighbors/_kernels.py).
//
// A panel of rows is offered to queries. For each pair the kernel computes the score q.x - |x|^2 / 2, which is the larger
// the nearer the row is: |q - x|^2 = |q|^2 - 2 score. Scores are rounded, but by no more than a proven slack (offer.h),
// so that each pair has a lower and an upper bound on its squared distance. Rows whose lower bound exceeds the k-th least
// upper bound of a query cannot be among its k nearest. The others are its candidates, which Python ranks in float64.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// Points (rows or queries) in the number format and order of a level. Arrays have an entry for each point.
struct Points {
  const void *packed;
  int64_t n_points;
  int32_t depth;          // number of features, padded as the level needs it
  int32_t n_features;
  double unit;            // a stored whole number is the coordinate divided by this; 1 for levels of floating point
  const double *squares;  // |x|^2
  const float *norms;     // at least |x|
  const float *rests;     // at least |x - what is stored of x|
};

// The candidates of queries. Limits and bounds are squared distances.
struct Lists {
  int32_t n_neighbors, capacity;
  uint8_t exact;          // scores have no error, rows come in ascending order: of equal ones the first is kept
  double absolute;        // error of each squared distance beside that of rounding
  float *limits;          // (n_queries,) the n_neighbors-th least upper bound so far
  float *uppers;          // (n_queries, n_neighbors) the least upper bounds so far, a heap with the largest first
  int32_t *n_uppers;      // (n_queries,)
  int64_t *rows;          // (n_queries, capacity) candidates
  float *lowers;          // (n_queries, capacity) their lower bounds
  int32_t *n_candidates;  // (n_queries,)
  uint8_t *unresolved;    // (n_queries,) 1 where there are more candidates than the capacity
};

// The number of this interface: callers of another number must not call.
uint32_t nearlabel_interface();

// Bit i: the processor runs the level i, and this library has it.
uint32_t nearlabel_levels();

// The number of bytes of n packed points, and the depth; -1 if there is no such level.
int64_t nearlabel_packed_bytes(int32_t level, int32_t as_rows, int64_t n_points, int32_t n_features, int32_t *depth);

// Pack centred points (n, n_features), the first of which has the number `start` among those in `packed`.
int32_t nearlabel_pack(int32_t level, int32_t as_rows, const double *points, int64_t n, int64_t start, int32_t n_features,
                       double unit, void *packed, double *squares, float *norms, float *rests);

// Offer rows to the queries that `takes` marks. `numbers` are the rows' numbers; `own`, if there is one, has for each
// query the number of the row that it is itself.
int32_t nearlabel_offer(int32_t level, const Points *rows, const int64_t *numbers, const Points *queries,
                        const uint8_t *takes, const int64_t *own, const Lists *lists);

// Sums over the features, in their order, in float64: of squared differences (kind 0) or of products (kind 1), of pairs
// of rows of two dense matrices of float32 (is64 = 0) or float64.
int32_t nearlabel_sum_pairs(int32_t kind, int32_t is64, const void *left, const void *right, int64_t n_features,
                            const int64_t *left_rows, const int64_t *right_rows, int64_t n_pairs, double *sums);
}
#pragma GCC visibility pop

constexpr uint32_t kInterface = 1;

enum Level : int32_t { FLOAT32_AVX2 = 0, FLOAT32_AVX512 = 1, INT16 = 2, BF16 = 3, FLOAT32_NEON = 4, HOSTILE = 5 };
