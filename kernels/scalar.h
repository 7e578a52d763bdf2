// One number in the place of a register, for levels in plain C++.
#pragma once
#include <cstdint>

namespace nearlabel {
namespace {

struct Scalar {
  using type = float;
  static constexpr int kWidth = 1;
  static type load(const float *from) { return *from; }
  static type fill(float value) { return value; }
  static type add(type a, type b) { return a + b; }
  static type smaller(type a, type b) { return a < b ? a : b; }
  static uint32_t at_least(type a, type b) { return a >= b; }
};

}  // namespace
}  // namespace nearlabel
