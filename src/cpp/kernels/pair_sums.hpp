// Of a pair of dense rows: the sum of minima, and the sum of each row, in one pass.
//
// Eight lanes whatever the instruction set, added up in one order: the same bits everywhere. Of a row with itself all three
// sums are the same number.
#pragma once

#include "base/simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kPairLanes = 8;
typedef double PairDoubles __attribute__((vector_size(8 * kPairLanes)));
typedef std::int64_t PairLongs __attribute__((vector_size(8 * kPairLanes)));

template <class Number>
GCWSNET_INLINE PairDoubles eight_of(const Number* from) {
  typedef Number Eight __attribute__((vector_size(sizeof(Number) * kPairLanes)));
  Eight loaded;
  __builtin_memcpy(&loaded, from, sizeof loaded);
  return __builtin_convertvector(loaded, PairDoubles);
}

struct PairLanes {
  PairDoubles minima{}, a{}, b{};

  // The positive and the negative part of a column are two features: of different signs, the minimum is zero.
  GCWSNET_INLINE void add(const PairDoubles& x, const PairDoubles& y, double factor) {
    constexpr std::int64_t kSignBit = std::int64_t{1} << 63;
    const PairLongs bits_x = (PairLongs)x, bits_y = (PairLongs)y;
    const PairDoubles size_x = (PairDoubles)(bits_x & ~kSignBit);
    const PairDoubles size_y = (PairDoubles)(bits_y & ~kSignBit) * factor;
    const PairDoubles smaller = size_x < size_y ? size_x : size_y;
    const PairLongs same_sign = ((bits_x ^ bits_y) & kSignBit) == 0;
    minima += (PairDoubles)((PairLongs)smaller & same_sign);
    a += size_x;
    b += size_y;
  }
};

// sums = sum of min(|a|, factor * |b|) where the signs agree, sum of |a|, sum of factor * |b|.
template <class Number>
inline void pair_sums(const Number* a, const Number* b, std::size_t n, double factor, double* sums) {
  PairLanes lanes;
  std::size_t i = 0;
  for (; i + kPairLanes <= n; i += kPairLanes) lanes.add(eight_of(a + i), eight_of(b + i), factor);
  if (i < n) {
    Number last_a[kPairLanes] = {}, last_b[kPairLanes] = {};
    for (std::size_t rest = 0; i + rest < n; ++rest) {
      last_a[rest] = a[i + rest];
      last_b[rest] = b[i + rest];
    }
    lanes.add(eight_of(last_a), eight_of(last_b), factor);
  }
  const PairDoubles* all[] = {&lanes.minima, &lanes.a, &lanes.b};
  for (int which = 0; which < 3; ++which) {
    sums[which] = 0.0;
    for (std::size_t lane = 0; lane < kPairLanes; ++lane) sums[which] += (*all[which])[lane];
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
