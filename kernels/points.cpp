// Points from rows: centred, scaled and rounded as a level stores them, with what their bounds need.
#include "points.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "candidates.h"

namespace nearlabel {
namespace {

constexpr double kLargestSquare = 0x1p120;  // of points whose products stay within float32
constexpr int kSums = 8;                    // added side by side, which hides the time that an addition takes

template <class Term>
double sum_of(int32_t n, const Term &term) {
  double sums[kSums] = {};
  int32_t j = 0;
  for (; j + kSums <= n; j += kSums)
    for (int s = 0; s < kSums; ++s) sums[s] += term(j + s);
  for (; j < n; ++j) sums[0] += term(j);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

class Reader {
 public:
  explicit Reader(const Source &source) : source_(source), point_(source.n_features) {}

  const double *point(int64_t i) {
    const double factor = read(i);
    for (size_t j = 0; j < point_.size(); ++j) point_[j] = point_[j] * factor - source_.centre[j];
    scale(source_.exponent);
    return point_.data();
  }

  // The squared distance of a row to each of some centres, without the power of two, at every `n_points`-th place.
  void squares(int64_t i, const double *centres, int32_t n_centres, int64_t n_points, double *squares) {
    const double factor = read(i);
    const int32_t n = source_.n_features;
    for (int32_t c = 0; c < n_centres; ++c)
      squares[c * n_points] = sum_of(n, [&](int32_t j) {
        const double difference = point_[j] * factor - centres[int64_t{c} * n + j];
        return difference * difference;
      });
  }

 private:
  // Read a row; return what its values are to be multiplied with.
  double read(int64_t i) {
    if (source_.is64 != 0)
      read_row<double>(source_.rows[i]);
    else
      read_row<float>(source_.rows[i]);
    return source_.unit_length != 0 ? one_over_length() : 1;
  }

  template <class Number>
  void read_row(int64_t row) {
    const Number *from = static_cast<const Number *>(source_.values) + row * source_.row_stride;
    if (source_.column_stride == 1)
      std::copy(from, from + point_.size(), point_.begin());
    else
      for (size_t j = 0; j < point_.size(); ++j) point_[j] = from[j * source_.column_stride];
  }

  // Multiply by a power of two; in two steps, each of which float64 can represent.
  void scale(int32_t exponent) {
    if (exponent == 0) return;
    const double first = std::ldexp(1.0, exponent / 2), second = std::ldexp(1.0, exponent - exponent / 2);
    for (double &value : point_) value = value * first * second;
  }

  // Values whose squares may leave float64 are multiplied by a power of two first.
  double one_over_length() {
    const double some = square(point_.data(), source_.n_features);
    if (some > 0x1p-900 && some < 0x1p900) return 1 / std::sqrt(some);
    double largest = 0;
    for (const double value : point_) largest = std::max(largest, std::fabs(value));
    if (largest == 0) return 1;
    int exponent;
    std::frexp(largest, &exponent);
    scale(-exponent);
    return 1 / std::sqrt(square(point_.data(), source_.n_features));
  }

  const Source &source_;
  std::vector<double> point_;
};

}  // namespace

double square(const double *point, int32_t n) {
  return sum_of(n, [point](int32_t j) { return point[j] * point[j]; });
}

void squares(const Source &source, int64_t n_points, const double *centres, int32_t n_centres, double *squares) {
  Reader reader(source);
  for (int64_t i = 0; i < n_points; ++i) reader.squares(i, centres, n_centres, n_points, squares + i);
}

void pack(const Level &level, bool as_rows, const Source &source, const Points &to) {
  const int32_t n = source.n_features;
  const double above = 1 + (n + 16) * 0x1p-52;  // sums and roots are rounded
  Reader reader(source);
  std::vector<double> stored(n);
  for (int64_t i = 0; i < to.n_points; ++i) {
    const double *point = reader.point(i);
    to.squares[i] = square(point, n);
    to.norms[i] = to.rests[i] = 0;
    to.units[i] = 1;
    if (!(to.squares[i] <= kLargestSquare)) continue;
    const double norm = std::sqrt(to.squares[i]) * above;
    to.units[i] = level.store(point, n, norm, as_rows, i, to.depth, to.packed, stored.data());
    const double rest = sum_of(n, [&](int32_t j) { return (point[j] - stored[j]) * (point[j] - stored[j]); });
    to.norms[i] = round_up(norm);
    to.rests[i] = round_up(std::sqrt(rest) * above);
  }
}

}  // namespace nearlabel
