// The candidates of one query: what is kept of the rows that it is offered.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "nearlabel_kernels.h"

namespace nearlabel {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The nearest float32 numbers that are not above, or not below, a number.
inline float round_down(double value) {
  const float rounded = static_cast<float>(value);
  return rounded > value ? std::nextafterf(rounded, -kInfinity) : rounded;
}
inline float round_up(double value) { return -round_down(-value); }

class Candidates {
 public:
  Candidates(const Lists &lists, int64_t query)
      : lists_(lists), query_(query), k_(lists.n_neighbors), capacity_(lists.capacity) {}

  float limit() const { return lists_.limits[query_]; }
  bool is_unresolved() const { return lists_.unresolved[query_] != 0; }

  // Take a row whose squared distance is between two bounds.
  void take(int64_t row, float lower, float upper) {
    lower_limit(upper);
    int32_t &n = lists_.n_candidates[query_];
    if (n == capacity_) drop_excluded();
    if (is_unresolved()) return;
    lists_.rows[query_ * capacity_ + n] = row;
    lists_.lowers[query_ * capacity_ + n] = lower;
    ++n;
  }

 private:
  // The k-th least of upper bounds of k different rows bounds the distance of the k-th neighbour.
  void lower_limit(float upper) {
    float *heap = lists_.uppers + query_ * k_;
    int32_t &n = lists_.n_uppers[query_];
    if (n < k_) {
      heap[n++] = upper;
      std::push_heap(heap, heap + n);
    } else if (upper < heap[0]) {
      replace_largest(heap, upper);
    }
    if (n == k_) lists_.limits[query_] = std::min(limit(), heap[0]);
  }

  void replace_largest(float *heap, float upper) {
    int32_t hole = 0;
    for (int32_t child = 1; child < k_; child = 2 * hole + 1) {
      if (child + 1 < k_ && heap[child + 1] > heap[child]) ++child;
      if (heap[child] <= upper) break;
      heap[hole] = heap[child];
      hole = child;
    }
    heap[hole] = upper;
  }

  // Make room. Where nearly all candidates stay, the bounds cannot order the rows of this query.
  void drop_excluded() {
    int64_t *rows = lists_.rows + query_ * capacity_;
    float *lowers = lists_.lowers + query_ * capacity_;
    int32_t kept = 0;
    for (int32_t i = 0; i < capacity_; ++i) {
      rows[kept] = rows[i];
      lowers[kept] = lowers[i];
      kept += lowers[i] <= limit();
    }
    lists_.n_candidates[query_] = kept;
    if (kept > capacity_ - capacity_ / 8) lists_.unresolved[query_] = 1;
  }

  const Lists &lists_;
  const int64_t query_, k_, capacity_;
};

}  // namespace nearlabel
