// Loops that the compiler sees as so many copies of their body, with constant numbers: only so do arrays of sums stay in
// registers (of `#pragma GCC unroll` it knows too late).
#pragma once
#include <utility>

namespace nearlabel {

template <class Body, int... Numbers>
inline __attribute__((always_inline)) void each_of(std::integer_sequence<int, Numbers...>, const Body &body) {
  (body(std::integral_constant<int, Numbers>{}), ...);
}

template <int N, class Body>
inline __attribute__((always_inline)) void unrolled(const Body &body) {
  each_of(std::make_integer_sequence<int, N>{}, body);
}

}  // namespace nearlabel

#define NEARLABEL_INLINE __attribute__((always_inline))
