// What the kernels and their callers share: plain C structures, filled by Python (src/nearlabel/neighbors/exact,
// _kernel_points.py and _kernel_search.py).
//
// A panel of rows is offered to queries. For each pair the kernel computes the score q.x - |x|^2 / 2, which is the larger
// the nearer the row is: |q - x|^2 = |q|^2 - 2 score. Scores are rounded, but by no more than a proven slack (offer.cpp),
// so that each pair has a lower and an upper bound on its squared distance. Rows whose lower bound exceeds the k-th least
// upper bound of a query cannot be among its k nearest. The others are its candidates, which Python ranks in float64.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// Dense rows of numbers, and what makes points of them: each less a centre, times a power of two.
struct Source {
  const void *values;                 // of the first row
  uint8_t is64;                       // float64, else float32
  uint8_t unit_length;                // rows are divided by their length first; empty rows stay
  int32_t n_features;
  int32_t exponent;
  int64_t row_stride, column_stride;  // in numbers
  const int64_t *rows;                // (n_points,) numbers of the rows to take
  const double *centre;               // (n_features,)
};

// Points (rows or queries) in the number format and order of a level. Arrays have an entry for each point.
struct Points {
  void *packed;
  int64_t n_points;
  int32_t depth;     // number of features, padded as the level needs it
  int32_t n_features;
  float *units;      // a stored whole number is the coordinate divided by this; unused by levels of floating point
  double *squares;   // |x|^2
  float *norms;      // at least |x|
  float *rests;      // at least |x - what is stored of x|
};

// Panels of rows with one centre, and the numbers of their rows.
struct Panels {
  int64_t n_panels;
  const Points *const *rows;
  const int32_t *const *numbers;
};

// Sparse rows of a panel, feature by feature: the values of a frequent feature as a dense column, of another one as
// postings (a row and its value).
struct SparseRows {
  int64_t n_points;        // at most 2^16
  int32_t n_features;
  int32_t n_terms;         // the most values of a row
  int32_t n_columns;
  const uint64_t *stored;  // a bit for each feature that some row has; such features are counted from the first on
  const int32_t *before;   // how many of them there are before the first feature of each of these words
  const int64_t *starts;   // (n_stored + 1,) where the postings of each begin
  const int32_t *columns;  // (n_stored,) the dense column of each; -1 where it has postings
  const uint16_t *rows;    // of postings
  const float *values;     // of postings
  const float *dense;      // (n_runs, n_columns, 64): the last run is filled up with zeros
  const double *squares;
  const float *norms;
  const float *rests;
};

// Sparse rows as queries, row by row. Squares, norms and rests are as those of points.
struct SparseQueries {
  int64_t n_points;
  const int64_t *starts;    // (n_points + 1,)
  const int32_t *features;
  const float *values;
  const double *squares;
  const float *norms;
  const float *rests;
};

// Sparse rows of a matrix, canonical: features ascend, none comes twice.
struct Csr {
  const void *values;
  const void *features;  // int64 if `wide`, else int32
  const void *starts;    // alike
};

// The values of features, sorted, as runs of entries: what is summed up to an entry is one side of a threshold.
struct StumpRuns {
  int64_t n_runs;
  const int64_t *starts;         // (n_runs + 1,) the first entry of each run
  const int32_t *rows;           // (n_entries,)
  const uint8_t *has_threshold;  // (n_entries,) 1 where a threshold follows the entry
};

struct Candidate {
  int32_t row;
  float lower, upper;  // bounds on its squared distance
};

// The candidates of queries. Limits and bounds are squared distances. A list that is full moves to a place of twice its
// capacity, at the end of what is in use of the room.
struct Lists {
  int32_t n_neighbors, most;
  uint8_t exact;        // scores have no error, rows come in ascending order: of equal ones the first are kept
  double absolute;      // error of each squared distance beside that of rounding
  float *limits;        // (n_queries,) at least the n_neighbors-th least upper bound so far
  Candidate *room;      // (n_room,)
  int64_t n_room;
  int64_t *n_used;      // of the room, which several lists may share
  int64_t *starts;      // (n_queries,) where a query's candidates begin
  int32_t *capacities;  // (n_queries,)
  int32_t *n_candidates;  // (n_queries,)
  int32_t *n_sifted;      // (n_queries,) how many were left when the limit was lowered last
  uint8_t *unresolved;    // (n_queries,) 1 where there are more than `most` candidates, or no room for them
};

// Rows with labels (0 or 1), their neighbours' votes, and the lists of neighbours that change where a row is left out: the
// events of a row, from its start to its stop, are those of each row that loses it as a neighbour, and gains another one.
struct LeftOut {
  int64_t n_labels;
  const int8_t *labels;    // (n_rows, n_labels)
  const int8_t *votes;     // (n_rows, n_labels)
  const int64_t *starts;   // (n_rows,)
  const int64_t *stops;    // (n_rows,)
  const int64_t *changed;  // (n_events,) the row that loses a neighbour
  const int64_t *into;     // (n_events,) the row that it gains
};

// Calls return 0, -1 if they are malformed, and -2 if memory is not there.
//
// The number of this interface: callers of another number must not call.
uint32_t nearlabel_interface();

// Bit i: the processor runs the level i, and this library has it.
uint32_t nearlabel_levels();

// The number of bytes of n packed points, and the depth; -1 if there is no such level.
int64_t nearlabel_packed_bytes(int32_t level, int32_t as_rows, int64_t n_points, int32_t n_features, int32_t *depth);

// Squared distances (n_centres, n_points) of rows to other centres, with a relative error of (n_features + 8) 2^-53 and
// without the power of two.
int32_t nearlabel_squares(const Source *source, int64_t n_points, const double *centres, int32_t n_centres,
                          double *squares);

// Make points of rows and pack them; `packed` holds zeros before. Points with a norm above 2^60 become zeros: their
// square, which tells of them, stays. No row may be so long.
int32_t nearlabel_pack(int32_t level, int32_t as_rows, const Source *source, const Points *points);

// Offer rows to queries. `numbers` are the rows' numbers. `places` has for each packed query its place in the lists, -1
// for one that takes no rows; `own`, if there is one, has for each place the number of the row that the query itself is.
// With `lists_of_rows`, the queries are offered to the rows as well, also those that are unresolved themselves.
int32_t nearlabel_offer(int32_t level, const Points *rows, const int32_t *numbers, const Points *queries,
                        const int32_t *places, const int32_t *own, const Lists *lists, const Lists *lists_of_rows);

// Offer the rows of some panels, in an order, to a few queries. `lower` (n_queries, n_panels) are lower bounds on the
// squared distances of a panel's rows: a query whose limit is below takes none of them.
int32_t nearlabel_offer_panels(int32_t level, const Panels *panels, const int32_t *order, int64_t n_order,
                               const double *lower, const Points *queries, const Lists *lists);

// The same as the first for sparse rows and queries, at a level of float32.
int32_t nearlabel_offer_sparse(int32_t level, const SparseRows *rows, const int32_t *numbers,
                               const SparseQueries *queries, const int32_t *places, const int32_t *own,
                               const Lists *lists, const Lists *lists_of_rows);

// Sums over the features, in their order, in float64: of squared differences (kind 0) or of products (kind 1), of pairs
// of rows of two dense matrices of float32 (is64 = 0) or float64.
int32_t nearlabel_sum_pairs(int32_t level, int32_t kind, int32_t is64, const void *left, const void *right,
                            int64_t n_features, const int64_t *left_rows, const int64_t *right_rows, int64_t n_pairs,
                            double *sums);

// The same for sparse rows, of float32 (is64 = 0) or float64, with features and starts of 32 or 64 bits.
int32_t nearlabel_sum_sparse_pairs(int32_t kind, int32_t is64, int32_t wide, const Csr *left, const Csr *right,
                                   const int64_t *left_rows, const int64_t *right_rows, int64_t n_pairs, double *sums);

// For each run the least Z of its thresholds, or infinity where it is larger than that of another run by more than 1e-10
// of it. `weights` (n_rows, 2 * n_labels) are those of the labels that each row has, then of those that it lacks; only
// rows that are `reached` count, all if it is null. `totals` (2 * n_labels,) are the sums over these rows.
// Z = 2 sum over labels and both sides of sqrt(weight with the label * weight without).
int32_t nearlabel_least_z(const StumpRuns *runs, const uint8_t *reached, const double *weights, const double *totals,
                          int32_t n_labels, double *least);

// Add to counts (n_rows, n_labels), of the rows that lack and that carry each label and have as many votes for it as each
// of some rows, what changes if that row is left out.
int32_t nearlabel_left_out(const LeftOut *of, const int64_t *rows, int64_t n_rows, int64_t *missing, int64_t *carried);
}
#pragma GCC visibility pop

constexpr uint32_t kInterface = 8;

enum LevelNumber : int32_t {
  FLOAT32_AVX2 = 0,
  FLOAT32_AVX512 = 1,
  INT16 = 2,
  BF16 = 3,
  FLOAT32_NEON = 4,
  HOSTILE = 5
};
