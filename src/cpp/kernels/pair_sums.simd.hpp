// Of a pair of dense rows: the sum of minima, and the sum of each row, in one pass.
//
// Eight lanes whatever the instruction set, added up in one order: the same bits everywhere. Of a row with itself all
// three sums are the same number.
#pragma once

#include "kernels/minima.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kPairLanes = kDoubles * kParts;

template <class Number>
GCWSNET_INLINE DoubleRegister doubles_of(const Number* from) {
#if defined(__aarch64__)
  if constexpr (sizeof(Number) == sizeof(float)) return (DoubleRegister)vcvt_f64_f32(vld1_f32(from));
#endif
  typedef Number Numbers __attribute__((vector_size(sizeof(Number) * kDoubles)));
  Numbers loaded;
  __builtin_memcpy(&loaded, from, sizeof loaded);
  return __builtin_convertvector(loaded, DoubleRegister);
}

// In registers: GCC takes a vector that is wider than one apart, and compares number by number.
struct PairLanes {
  DoubleRegister minima[kParts]{}, a[kParts]{}, b[kParts]{};

  // The positive and the negative part of a column are two features: of different signs, the minimum is zero.
  template <class Number>
  GCWSNET_INLINE void add(const Number* of_a, const Number* of_b, double factor) {
    constexpr std::int64_t kSignBit = std::int64_t{1} << 63;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) {
      const LongRegister bits_x = (LongRegister)doubles_of(of_a + i * kDoubles);
      const LongRegister bits_y = (LongRegister)doubles_of(of_b + i * kDoubles);
      const DoubleRegister size_x = (DoubleRegister)(bits_x & ~kSignBit);
      const DoubleRegister size_y = (DoubleRegister)(bits_y & ~kSignBit) * factor;
      const LongRegister same_sign = ((bits_x ^ bits_y) & kSignBit) == 0;
      minima[i] += (DoubleRegister)((LongRegister)smaller(size_x, size_y) & same_sign);
      a[i] += size_x;
      b[i] += size_y;
    }
  }
};

// sums = sum of min(|a|, factor * |b|) where the signs agree, sum of |a|, sum of factor * |b|.
template <class Number>
inline void pair_sums(const Number* a, const Number* b, std::size_t n, double factor, double* sums) {
  PairLanes lanes;
  std::size_t i = 0;
  for (; i + kPairLanes <= n; i += kPairLanes) lanes.add(a + i, b + i, factor);
  if (i < n) {
    Number last_a[kPairLanes] = {}, last_b[kPairLanes] = {};
    for (std::size_t rest = 0; i + rest < n; ++rest) {
      last_a[rest] = a[i + rest];
      last_b[rest] = b[i + rest];
    }
    lanes.add(last_a, last_b, factor);
  }
  const DoubleRegister* all[] = {lanes.minima, lanes.a, lanes.b};
  for (int which = 0; which < 3; ++which) {
    double lane_sums[kPairLanes];
    __builtin_memcpy(lane_sums, all[which], sizeof lane_sums);
    sums[which] = 0.0;
    for (std::size_t lane = 0; lane < kPairLanes; ++lane) sums[which] += lane_sums[lane];
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
