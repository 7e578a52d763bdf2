// Compiled with -mavx512f.
#include "avx512.h"
#include "float32.h"
#include "sparse_run.h"

namespace nearlabel {
namespace {

const Level kNarrow = Float32<Avx512, 2, 2>::level(nullptr);

}  // namespace

const Level kFloat32Avx512 = Float32<Avx512, 12, 2>::level(&kNarrow);  // 24 of the 32 registers hold sums
const SparseLevel kSparseAvx512 = SparseRun<Avx512>::level();

}  // namespace nearlabel
