// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "kernels/functions.hpp"

#include "kernels/elimination.simd.hpp"
#include "kernels/minima.simd.hpp"
#include "kernels/pair_sums.simd.hpp"
#include "kernels/signs.simd.hpp"

namespace gcwsnet::GCWSNET_ISA {

extern const KernelFunctions kKernelFunctions;
const KernelFunctions kKernelFunctions = {
    .minima_signed = minima<true>,
    .minima_positive = minima<false>,
    .pair_sums_f32 = pair_sums<float>,
    .pair_sums_f64 = pair_sums<double>,
    .subtract_multiples = subtract_multiples,
    .signed_sum = signed_sum,
};

}  // namespace gcwsnet::GCWSNET_ISA
