// What a level gives to the search: how it stores points, and the scores of a block of rows and a group of queries.
//
// Only the file of a level is compiled for its instructions. So such a file defines nothing that the linker could take
// for another file's (no template of the standard library): its code would end a program on an older processor.
#pragma once
#include <cstdint>

namespace nearlabel {

struct Block {
  const void *packed;
  int32_t depth;
  const float *units;
  const float *initial;  // what the sums of products start from
};

// Queries, and the least scores of candidates. A pair is a hit if the row is a candidate for the query, or, where
// `of_rows` is given, the query for the row: if the score is at least of_queries[q], or halves[q] + of_rows[r].
struct Group {
  const void *packed;
  const float *units;
  const float *of_queries;
  const float *halves;
  const float *of_rows;
};

struct Level {
  int32_t n_queries, n_rows;  // of a group and of a block; at most 32 rows

  int32_t (*depth)(int32_t n_features);
  // Points are stored block by block, or group by group: for a multiple of these, this is also the offset of the next.
  int64_t (*bytes)(int64_t n_points, int32_t depth, bool as_rows);

  // Store a point of a given norm; return its unit, and write to `stored` what is kept of each coordinate.
  float (*store)(const double *point, int32_t n_features, double norm, bool as_rows, int64_t place, int32_t depth,
                 void *packed, double *stored);

  // Copy a query from one place to another.
  void (*copy)(const void *from, int64_t place, void *to, int64_t new_place, int32_t depth);

  // Write a bit for each row to hits[q], and, if there is a hit, all scores (n_queries, n_rows); return whether.
  bool (*score)(const Block &rows, const Group &queries, float *scores, uint32_t *hits);
  bool (*score_both)(const Block &rows, const Group &queries, float *scores, uint32_t *hits);

  void (*begin)(), (*end)();  // before and after scores are computed, by the same thread; may be null

  const Level *narrow;  // the same level with smaller groups, for few queries; may be null
};

constexpr int kRun = 64;  // rows of sparse panels that are compared at once

// A dense column of a feature that a query has, and the query's value.
struct Column {
  int64_t place;
  float factor;
};

// What a level gives to the search of sparse rows: add the columns of a run, which lie side by side, to the scores of its
// rows; return a bit for each hit. There is one query.
struct SparseLevel {
  uint64_t (*score)(const float *block, const Column *columns, int32_t n_columns, const Group &query, float *scores);
  uint64_t (*score_both)(const float *block, const Column *columns, int32_t n_columns, const Group &query, float *scores);
};

extern const SparseLevel kSparseAvx2, kSparseAvx512, kSparseNeon;
extern const Level kFloat32Avx2, kFloat32Avx512, kInt16, kBf16, kFloat32Neon, kHostile;

}  // namespace nearlabel
