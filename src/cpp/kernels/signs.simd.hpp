// A sum of weights with the signs of differences: the derivative of an L1 distance.
//
// It has eight lanes whatever the instruction set, added up in one order: the same bits everywhere.
#pragma once

#include "kernels/minima.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The sum of the weights of numbers below `at` minus that of the weights of numbers above it.
inline double signed_sum(const double* weights, const double* numbers, double at, std::size_t n) {
  DoubleRegister sums[kParts]{};
  const DoubleRegister here = at - DoubleRegister{};
  std::size_t i = 0;
  for (; i + kDoubles * kParts <= n; i += kDoubles * kParts) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const DoubleRegister number = load_doubles(numbers + i + static_cast<std::size_t>(part * kDoubles));
      const LongRegister weight = (LongRegister)load_doubles(weights + i + static_cast<std::size_t>(part * kDoubles));
      sums[part] += (DoubleRegister)((LongRegister)(number < here) & weight);
      sums[part] -= (DoubleRegister)((LongRegister)(number > here) & weight);
    }
  }
  double total = 0.0;
  for (int lane = 0; lane < kDoubles * kParts; ++lane) total += sums[lane / kDoubles][lane % kDoubles];
  for (; i < n; ++i) total += numbers[i] < at ? weights[i] : numbers[i] > at ? -weights[i] : 0.0;
  return total;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
