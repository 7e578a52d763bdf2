// Compiled with -mavx512f.
#include "avx512.h"
#include "float32.h"
#include "sparse_run.h"

namespace nearlabel {

const Level kFloat32Avx512 = Float32<Avx512, 12, 2>::level();  // 24 of the 32 registers hold sums
const SparseLevel kSparseAvx512 = SparseRun<Avx512>::level();

}  // namespace nearlabel
