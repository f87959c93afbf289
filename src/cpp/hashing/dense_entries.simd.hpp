// A row of a dense matrix as entries, zeros included: what the scans of whole rows start from.
#pragma once

#include "base/logarithm.simd.hpp"
#include "hashing/functions.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

GCWSNET_INLINE std::uint32_t sign_bit(float x) {
  std::uint32_t i;
  __builtin_memcpy(&i, &x, sizeof i);
  return i >> 31;
}
GCWSNET_INLINE std::uint32_t sign_bit(double x) {
  std::uint64_t i;
  __builtin_memcpy(&i, &x, sizeof i);
  return static_cast<std::uint32_t>(i >> 63);
}

// The features of n columns and their L = p ln|x|, minus infinity for a zero. False as in scaled_logarithms.
template <class Number>
bool dense_entries(const Number* x, std::size_t n, float p, bool nan_is_zero, std::uint32_t* feature, float* L,
                   RowSummary& row) {
  const float none = -__builtin_inff();
  float largest = none;
  std::uint32_t signs = 0;
  std::size_t n_nonzero = 0;
  for (std::size_t start = 0; start < n; start += kAtOnce) {  // while they are in the nearest cache
    const std::size_t end = start + kAtOnce < n ? start + kAtOnce : n;
    if (!scaled_logarithms(x + start, end - start, p, nan_is_zero, L + start)) return false;
    for (std::size_t i = start; i < end; ++i) {
      const std::uint32_t sign = sign_bit(x[i]);
      feature[i] = 2 * static_cast<std::uint32_t>(i) + sign;
      signs |= sign;
    }
    Floats most = floats(none);
    Ints missing = Ints{};
    std::size_t i = start;
    for (; i + kLanes <= end; i += kLanes) {
      const Floats here = load<Floats>(L + i);
      most = maximum(here, most);
      missing = missing + (here == floats(none));
    }
    float most_of[kLanes];
    std::int32_t missing_of[kLanes];
    store(most_of, most);
    store(missing_of, missing);
    n_nonzero += i - start;
    for (int lane = 0; lane < kLanes; ++lane) {
      largest = most_of[lane] > largest ? most_of[lane] : largest;
      n_nonzero -= static_cast<std::size_t>(-missing_of[lane]);
    }
    for (; i < end; ++i) {
      largest = L[i] > largest ? L[i] : largest;
      n_nonzero += L[i] != none;
    }
  }
  row = {n_nonzero, largest, signs != 0};
  return true;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
