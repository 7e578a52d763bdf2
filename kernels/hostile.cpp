// A level for tests: as wrong as a level may be. It claims to keep four bits of each coordinate, and puts scores off by
// nearly all that this may cost, |q| |xr| + |qr| (|x| + |xr|) (offer.h), up or down by chance.
#include "level.h"

namespace nearlabel {
namespace {

struct Hostile {
  using Start = FloatStart;
  static constexpr int64_t kQueries = 3, kRows = 5;

  static int32_t depth(int32_t n_features) { return n_features; }
  static int64_t bytes(int64_t n, int32_t depth, bool) { return (n / (kQueries * kRows) + 1) * kQueries * kRows * depth * 8; }

  static double put(void *packed, int64_t point, int32_t feature, int32_t depth, bool, double value, double) {
    static_cast<double *>(packed)[point * depth + feature] = value;
    return rounded(value);
  }

  static double rounded(double value) {
    int exponent;
    const double fraction = std::frexp(value, &exponent);
    return std::ldexp(std::nearbyint(fraction * 16) / 16, exponent);
  }

  static void copy(const void *from, int64_t point, void *to, int64_t place, int32_t depth) {
    std::memcpy(static_cast<double *>(to) + place * depth, static_cast<const double *>(from) + point * depth, 8 * depth);
  }

  static bool score(const Points &rows, int64_t row, const void *queries, int64_t query, const Start &start,
                    const float *thresholds, float *scores, uint32_t *hits) {
    uint32_t any = 0;
    for (int64_t q = 0; q < kQueries; ++q) {
      hits[q] = 0;
      for (int64_t r = 0; r < kRows; ++r) {
        const double *x = static_cast<const double *>(rows.packed) + (row + r) * rows.depth;
        const double *y = static_cast<const double *>(queries) + (query + q) * rows.depth;
        double dot = 0, xx = 0, yy = 0, xr = 0, yr = 0;
        for (int32_t j = 0; j < rows.depth; ++j) {
          dot += x[j] * y[j];
          xx += x[j] * x[j];
          yy += y[j] * y[j];
          xr += (x[j] - rounded(x[j])) * (x[j] - rounded(x[j]));
          yr += (y[j] - rounded(y[j])) * (y[j] - rounded(y[j]));
        }
        const double error = std::sqrt(yy * xr) + std::sqrt(yr) * (std::sqrt(xx) + std::sqrt(xr));
        const double sign = is_up(query + q, row + r) ? 0.999 : -0.999;
        const float score = static_cast<float>(start.values[r] + dot + sign * error);
        scores[q * kRows + r] = score;
        hits[q] |= uint32_t{score >= thresholds[q]} << r;
      }
      any |= hits[q];
    }
    return any != 0;
  }

  static bool is_up(int64_t query, int64_t row) {
    const uint64_t mixed = (static_cast<uint64_t>(query) * 0x9e3779b97f4a7c15 + row) * 0xbf58476d1ce4e5b9;
    return (mixed >> 40) & 1;
  }
};

}  // namespace

const LevelTable kHostile = table_of<Hostile>();

}  // namespace nearlabel
