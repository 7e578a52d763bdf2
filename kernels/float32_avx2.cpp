// Compiled with -mavx2 -mfma.
#include <immintrin.h>

#include "float32.h"
#include "sparse_run.h"

namespace nearlabel {
namespace {

struct Avx2 {
  using type = __m256;
  static constexpr int kWidth = 8;
  static type load(const float *from) { return _mm256_loadu_ps(from); }
  static void store(float *to, type values) { _mm256_storeu_ps(to, values); }
  static type fill(float value) { return _mm256_set1_ps(value); }
  static type add(type a, type b) { return _mm256_add_ps(a, b); }
  static type smaller(type a, type b) { return _mm256_min_ps(a, b); }
  static type add_product(type a, type b, type sum) { return _mm256_fmadd_ps(a, b, sum); }
  static uint32_t at_least(type a, type b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)); }
};

const Level kNarrow = Float32<Avx2, 2, 2>::level(nullptr);

}  // namespace

const Level kFloat32Avx2 = Float32<Avx2, 6, 2>::level(&kNarrow);  // 12 of the 16 registers hold sums
const SparseLevel kSparseAvx2 = SparseRun<Avx2>::level();

}  // namespace nearlabel
