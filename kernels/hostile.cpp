// A level for tests: as wrong as a level may be. It claims to keep four bits of each coordinate, and puts scores off by
// nearly all that this may cost, |q| |xr| + |qr| (|x| + |xr|) (offer.cpp), up or down by chance.
#include <cmath>
#include <cstring>

#include "hits.h"
#include "scalar.h"

namespace nearlabel {
namespace {

constexpr int kQueries = 3, kRows = 5;

int32_t depth(int32_t n_features) { return n_features; }
int64_t bytes(int64_t n, int32_t depth, bool as_rows) {
  const int64_t of = as_rows ? kRows : kQueries;
  return (n + of - 1) / of * of * depth * 8;
}

double rounded(double value) {
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(fraction * 16) / 16, exponent);
}

float store(const double *point, int32_t n_features, double, bool, int64_t place, int32_t depth, void *packed,
            double *stored) {
  for (int32_t j = 0; j < n_features; ++j) {
    static_cast<double *>(packed)[place * depth + j] = point[j];
    stored[j] = rounded(point[j]);
  }
  return 1;
}

void copy(const void *from, int64_t place, void *to, int64_t new_place, int32_t depth) {
  std::memcpy(static_cast<double *>(to) + new_place * depth, static_cast<const double *>(from) + place * depth, 8 * depth);
}

bool is_up(const double *query, const double *row) {
  uint64_t bits[2];
  std::memcpy(&bits[0], query, 8);
  std::memcpy(&bits[1], row, 8);
  const uint64_t mixed = (bits[0] * 0x9e3779b97f4a7c15 + bits[1]) * 0xbf58476d1ce4e5b9;
  return (mixed >> 40) & 1;
}

template <bool kBoth>
bool score(const Block &rows, const Group &queries, float *scores, uint32_t *hits) {
  for (int q = 0; q < kQueries; ++q)
    for (int r = 0; r < kRows; ++r) {
      const double *x = static_cast<const double *>(rows.packed) + r * rows.depth;
      const double *y = static_cast<const double *>(queries.packed) + q * rows.depth;
      double dot = 0, xx = 0, yy = 0, xr = 0, yr = 0;
      for (int32_t j = 0; j < rows.depth; ++j) {
        dot += x[j] * y[j];
        xx += x[j] * x[j];
        yy += y[j] * y[j];
        xr += (x[j] - rounded(x[j])) * (x[j] - rounded(x[j]));
        yr += (y[j] - rounded(y[j])) * (y[j] - rounded(y[j]));
      }
      const double error = std::sqrt(yy * xr) + std::sqrt(yr) * (std::sqrt(xx) + std::sqrt(xr));
      scores[q * kRows + r] = static_cast<float>(rows.initial[r] + dot + (is_up(y, x) ? 0.999 : -0.999) * error);
    }
  return find_hits<Scalar, kBoth>(scores, queries, kQueries, kRows, hits);
}

}  // namespace

const Level kHostile = {kQueries, kRows, depth, bytes, store, copy, score<false>, score<true>, nullptr, nullptr, nullptr};

}  // namespace nearlabel
