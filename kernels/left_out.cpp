// How counts of votes change when rows are left out, one at a time: see nearlabel_left_out.

#include <algorithm>
#include <new>
#include <vector>

#include "nearlabel_kernels.h"

namespace {

constexpr int kMostInByte = 127;

// Sums of -1, 0 and 1 for each label, which are added in bytes as long as these hold them.
class Sums {
 public:
  explicit Sums(int64_t n_labels) : bytes_(n_labels), whole_(n_labels) {}

  int8_t *bytes() { return bytes_.data(); }

  void flush() {
    for (size_t label = 0; label < bytes_.size(); ++label) whole_[label] += bytes_[label];
    std::fill(bytes_.begin(), bytes_.end(), 0);
  }

  int64_t take(int64_t label) {
    const int64_t sum = whole_[label];
    whole_[label] = 0;
    return sum;
  }

 private:
  std::vector<int8_t> bytes_;
  std::vector<int64_t> whole_;
};

// Row m, whose votes are `before`, loses the neighbour `gone` and gains `into`: it enters, or leaves, the votes `at`.
void add_event(const int8_t *before, const int8_t *into, const int8_t *gone, const int8_t *at, const int8_t *own_of_m,
               int64_t n_labels, int8_t *__restrict both, int8_t *__restrict carried) {
  for (int64_t label = 0; label < n_labels; ++label) {
    const int8_t after = before[label] + into[label] - gone[label];
    const int8_t moved = (after == at[label]) - (before[label] == at[label]);
    both[label] += moved;
    carried[label] += moved & -own_of_m[label];
  }
}

}  // namespace

int32_t nearlabel_left_out(const LeftOut *of, const int64_t *rows, int64_t n_rows, int64_t *missing,
                           int64_t *carried) try {
  const int64_t n_labels = of->n_labels;
  Sums both(n_labels), with_label(n_labels);
  for (int64_t place = 0; place < n_rows; ++place, missing += n_labels, carried += n_labels) {
    const int64_t row = rows[place];
    const int8_t *own = of->labels + row * n_labels, *at = of->votes + row * n_labels;
    int n_in_byte = 0;
    for (int64_t event = of->starts[row]; event < of->stops[row]; ++event) {
      const int64_t m = of->changed[event];
      add_event(of->votes + m * n_labels, of->labels + of->into[event] * n_labels, own, at, of->labels + m * n_labels,
                n_labels, both.bytes(), with_label.bytes());
      if (++n_in_byte == kMostInByte) {
        both.flush();
        with_label.flush();
        n_in_byte = 0;
      }
    }
    both.flush();
    with_label.flush();
    for (int64_t label = 0; label < n_labels; ++label) {  // and the row itself leaves its own votes
      const int64_t change = with_label.take(label) - own[label];
      carried[label] += change;
      missing[label] += both.take(label) - 1 - change;
    }
  }
  return 0;
} catch (const std::bad_alloc &) {
  return -2;
}
