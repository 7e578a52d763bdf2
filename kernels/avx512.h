// 16 numbers of float32 in a register of AVX-512. Each file has its own copy, so that the linker shares no code.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace nearlabel {
namespace {

struct Avx512 {
  using type = __m512;
  static constexpr int kWidth = 16;
  static type load(const float *from) { return _mm512_loadu_ps(from); }
  static void store(float *to, type values) { _mm512_storeu_ps(to, values); }
  static type fill(float value) { return _mm512_set1_ps(value); }
  static type add(type a, type b) { return _mm512_add_ps(a, b); }
  static type smaller(type a, type b) { return _mm512_min_ps(a, b); }
  static type add_product(type a, type b, type sum) { return _mm512_fmadd_ps(a, b, sum); }
  static uint32_t at_least(type a, type b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

}  // namespace
}  // namespace nearlabel
