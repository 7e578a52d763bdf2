#pragma once
#include "level.h"
#include "nearlabel_kernels.h"

namespace nearlabel {

double square(const double *point, int32_t n_features);
void squares(const Source &source, int64_t n_points, const double *centres, int32_t n_centres, double *squares);
void pack(const Level &level, bool as_rows, const Source &source, const Points &to);

}  // namespace nearlabel
