// Sums over the features, in their order, in float64, of pairs of rows of two dense matrices.
#pragma once
#include <cstdint>

namespace nearlabel {

using SumPairs = void (*)(const void *left, const void *right, int64_t n_features, const int64_t *left_rows,
                          const int64_t *right_rows, int64_t n_pairs, double *sums);
using SumsOfPairs = SumPairs[2][2];  // of squared differences and of products, in float32 and in float64

extern const SumsOfPairs kSumPairs, kSumPairsAvx512;

}  // namespace nearlabel
