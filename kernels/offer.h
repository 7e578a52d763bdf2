#pragma once
#include "level.h"
#include "nearlabel_kernels.h"

namespace nearlabel {

void offer(const Level &level, const Points &rows, const int32_t *numbers, const Points &queries, const int32_t *places,
           const int32_t *own, const Lists &lists, const Lists *lists_of_rows);
void offer(const Level &level, const Panels &panels, const int32_t *order, int64_t n_order, const double *lower,
           const Points &queries, const Lists &lists);
void offer(const SparseLevel &level, const SparseRows &rows, const int32_t *numbers, const SparseQueries &queries,
           const int32_t *places, const int32_t *own, const Lists &lists, const Lists *lists_of_rows);

}  // namespace nearlabel
