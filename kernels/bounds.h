// What a score says of a pair: bounds on its squared distance, and the least score that a candidate may have. A score is
// q.x - |x|^2 / 2 plus at most its slack, whose proof is in offer.cpp.
#pragma once
#include <cmath>

#include "candidates.h"

namespace nearlabel {

class Bounds {
 public:
  Bounds(const Lists &lists, int32_t n_features) : exact_(lists.exact != 0), blur_((n_features + 16) * 0x1p-52) {}

  // Of a query of this squared norm: a row at the limit is at most the limit's distance away.
  float threshold(double square, double limit, bool has_enough) const {
    if (exact_)  // of equal ones the first are kept, so a row at the limit comes too late once there are enough
      return std::nextafterf((square - limit) / 2, has_enough ? kInfinity : -kInfinity);
    return static_cast<float>((square * (1 - blur_) - limit - kRounding * (square + limit)) / 2);
  }

  // The threshold for a row, of which `half` is the query's part.
  static float threshold_of_row(float limit) { return -limit / 2 * (1 + 2 * kRounding); }
  float half(double square) const { return static_cast<float>(square * (1 - blur_ - kRounding) / 2); }

  Candidate candidate(int32_t row, double square, double score, double slack) const {
    const double twice = 2 * score, distance = square - twice;
    const double spread = exact_ ? 0 : blur_ * square + kRounding * (square + std::fabs(twice));
    const float lower = distance - spread, upper = distance + spread + 4.0 * slack * (1 + kRounding);
    return {row, lower, upper};
  }

 private:
  const bool exact_;
  const double blur_;  // what float64 rounds of the query's part
};

// How much sums of so many products in float32 may be off, relatively.
inline double rounding_of(int32_t n_terms) {
  const double error = (n_terms + 16) * 0x1p-24;
  return error / (1 - error);
}

// The slack of a pair from norms |q|, |x| and rests; a term of the sum itself, and rounded to float32. What depends on the
// query only is computed once.
class Slack {
 public:
  Slack(double rounding, double absolute, double q, double q_rest)
      : q_((1 + 2 * rounding + 0x1p-20) * q),
        both_((1 + 2 * rounding + 0x1p-20) * (q_rest + rounding * (q + q_rest))),
        square_((1 + 2 * rounding + 0x1p-20) * rounding),
        absolute_((1 + 2 * rounding + 0x1p-20) * absolute / 2) {}

  // q x_rest + q_rest (x + x_rest) + rounding ((q + q_rest) (x + x_rest) + x x) + absolute / 2, and a little more.
  double with(double x, double x_rest) const {
    return q_ * x_rest + both_ * (x + x_rest) + square_ * x * x + absolute_;
  }

 private:
  const double q_, both_, square_, absolute_;
};

}  // namespace nearlabel
