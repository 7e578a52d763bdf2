// Compiled with -mavx512f.
#include <immintrin.h>

#include "float32.h"
#include "level.h"

namespace nearlabel {
namespace {

struct Avx512 {
  using type = __m512;
  static constexpr int kWidth = 16;
  static type load(const float *from) { return _mm512_loadu_ps(from); }
  static void store(float *to, type values) { _mm512_storeu_ps(to, values); }
  static type fill(float value) { return _mm512_set1_ps(value); }
  static type add_product(type a, type b, type sum) { return _mm512_fmadd_ps(a, b, sum); }
  static uint32_t at_least(type a, type b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

}  // namespace

const LevelTable kFloat32Avx512 = table_of<Float32<Avx512, 12, 2>>();  // 24 of the 32 registers hold sums

}  // namespace nearlabel
