// The candidates of one query: what is kept of the rows that it is offered.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "nearlabel_kernels.h"

namespace nearlabel {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kLeastAtATime = 8;
constexpr double kRounding = 0x1p-22;  // more than what a few operations in float32 round a number by, relatively

// A float32 number that is not below a positive one, but for underflow.
inline float round_up(double value) { return static_cast<float>(value * (1 + kRounding)); }

// A float32 number as a whole one, in the same order, and back.
inline int32_t as_whole(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ (bits >> 31 & 0x7fffffff);
}
inline float of_whole(int32_t whole) {
  const int32_t bits = whole ^ (whole >> 31 & 0x7fffffff);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The k-th least of some whole numbers. A range with the k least is halved until it has no others, or one value only:
// each step counts several numbers at once, and there is little that a processor could guess wrongly.
inline int32_t kth_least(const std::vector<int32_t> &values, int32_t k) {
  const int32_t n = values.size();
  int32_t least = values[0], most = least, kth = std::numeric_limits<int32_t>::min();
  for (int32_t i = 0; i < n; ++i) least = std::min(least, values[i]);
  for (int32_t i = 0; i < n; ++i) most = std::max(most, values[i]);
  for (int32_t n_within = n; n_within != k && least < most;) {
    const int32_t middle = (int64_t{least} + most) >> 1;
    int32_t n_up_to = 0;
    for (int32_t i = 0; i < n; ++i) n_up_to += values[i] <= middle;
    if (n_up_to < k) {
      least = middle + 1;
    } else {
      most = middle;
      n_within = n_up_to;
    }
  }
  for (int32_t i = 0; i < n; ++i) kth = std::max(kth, values[i] <= most ? values[i] : kth);
  return kth;
}

class Candidates {
 public:
  Candidates(const Lists &lists, int64_t query)
      : lists_(lists), query_(query), of_query_(lists.room + lists.starts[query]), n_(lists.n_candidates[query]) {}

  bool is_unresolved() const { return lists_.unresolved[query_] != 0; }

  // Take a row, unless the query is unresolved. Return whether the caller must sift before the next one: the list is
  // full, or as many came since the last time as there are neighbours, so that sifting costs a few steps for each.
  bool take(const Candidate &candidate) {
    if (is_unresolved()) return false;
    of_query_[n_++] = candidate;
    return n_ == capacity() || n_new() >= std::max(lists_.n_neighbors, kLeastAtATime);
  }

  // How many came since the limit was lowered last.
  int32_t n_new() const { return n_ - lists_.n_sifted[query_]; }

  // Lower the limit, and drop what it excludes. The k-th least of upper bounds of different rows bounds the distance of
  // the k-th neighbour. Where nearly all candidates stay, the list grows; at its most, the bounds cannot order the rows of
  // this query: it becomes unresolved.
  void sift(std::vector<int32_t> &memory) {
    const int32_t k = lists_.n_neighbors;
    if (n_ < k) return;
    memory.resize(n_);
    for (int32_t i = 0; i < n_; ++i) memory[i] = as_whole(of_query_[i].upper);
    const float limit = of_whole(kth_least(memory, k));
    lists_.limits[query_] = std::min(lists_.limits[query_], limit);
    n_ = lists_.n_sifted[query_] = lists_.exact != 0 ? keep_first(limit) : keep_near(limit);
    if (n_ > capacity() - capacity() / 8 && !grow()) lists_.unresolved[query_] = 1;
  }

  // Sift before the next panel, if enough came to make a difference.
  void sift_some(std::vector<int32_t> &memory) {
    if (n_new() > lists_.n_neighbors / 2) sift(memory);
  }

 private:
  int32_t capacity() const { return lists_.capacities[query_]; }

  // Move to a place of twice the capacity; return whether there is one.
  bool grow() {
    const int32_t wanted = std::min(2 * capacity(), lists_.most);
    if (wanted == capacity()) return false;
    const int64_t start = __atomic_fetch_add(lists_.n_used, int64_t{wanted}, __ATOMIC_RELAXED);
    if (start + wanted > lists_.n_room) return false;
    of_query_ = std::copy(of_query_, of_query_ + n_, lists_.room + start) - n_;
    lists_.starts[query_] = start;
    lists_.capacities[query_] = wanted;
    return true;
  }

  int32_t keep_near(float limit) {
    int32_t n = 0;
    for (int32_t i = 0; i < n_; ++i) {
      of_query_[n] = of_query_[i];
      n += of_query_[i].lower <= limit;
    }
    return n;
  }

  // Keep what is below the limit, and the first ones at it, as many as there is place for.
  int32_t keep_first(float limit) {
    const auto is_below = [limit](const Candidate &of) { return of.upper < limit; };
    int64_t places = lists_.n_neighbors - std::count_if(of_query_, of_query_ + n_, is_below);
    const auto goes = [&](const Candidate &of) { return of.upper > limit || (of.upper == limit && places-- <= 0); };
    int32_t n = 0;
    for (int32_t i = 0; i < n_; ++i)
      if (!goes(of_query_[i])) of_query_[n++] = of_query_[i];
    return n;
  }

  const Lists &lists_;
  const int64_t query_;
  Candidate *of_query_;
  int32_t &n_;
};

}  // namespace nearlabel
