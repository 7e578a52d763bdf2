// Compiled for AArch64, all of whose processors have NEON.
#include <arm_neon.h>

#include "float32.h"
#include "sparse_run.h"

namespace nearlabel {
namespace {

struct Neon {
  using type = float32x4_t;
  static constexpr int kWidth = 4;
  static type load(const float *from) { return vld1q_f32(from); }
  static void store(float *to, type values) { vst1q_f32(to, values); }
  static type fill(float value) { return vdupq_n_f32(value); }
  static type add(type a, type b) { return vaddq_f32(a, b); }
  static type smaller(type a, type b) { return vminq_f32(a, b); }
  static type add_product(type a, type b, type sum) { return vfmaq_f32(sum, a, b); }
  static uint32_t at_least(type a, type b) {
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcgeq_f32(a, b), bits));
  }
};

const Level kNarrow = Float32<Neon, 2, 3>::level(nullptr);

}  // namespace

const Level kFloat32Neon = Float32<Neon, 8, 3>::level(&kNarrow);  // 24 of the 32 registers hold sums
const SparseLevel kSparseNeon = SparseRun<Neon>::level();

}  // namespace nearlabel
