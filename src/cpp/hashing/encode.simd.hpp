// From (i*, t*) to a code of a few bits. gcwsnet.hashing has the same in NumPy.
#pragma once

#include "base/simd.hpp"
#include "hashing/functions.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// A one-to-one scrambling of 32 bits.
GCWSNET_INLINE Words scramble(const Words& h) {
  Words x = h ^ (h >> 16);
  x = x * words(0x7feb352du);
  x = x ^ (x >> 15);
  x = x * words(0x846ca68bu);
  return x ^ (x >> 16);
}

// The top `n_bits` bits of a mix of i*, t* and the salt of the hash: uniform, as Theorem 2 assumes.
GCWSNET_INLINE Words mixed(const Words& i, const Words& t, const Words& salt_low, const Words& salt_high, int n_bits) {
  return scramble(scramble(i ^ salt_low) ^ t ^ salt_high) >> (32 - n_bits);
}

// The low `n_bits` bits of i*, features counted column first: positive parts 0 ... D - 1, negative parts D ... 2D - 1.
GCWSNET_INLINE Words low_bits(const Words& i, std::uint32_t n_columns, int n_bits) {
  const Words counted = (i >> 1) + (i & words(1)) * words(n_columns);
  const Words column_first = select(i == words(kNoFeature), i, counted);
  return column_first & words(0xffffffffu >> (32 - n_bits));
}

// The low bits of t*. From 2^31 on a float is a multiple of 256, so its eight low bits are zero.
GCWSNET_INLINE Words low_bits_of_t(const Floats& t, int n_bits) {
  const Floats small = select(absolute(t) < floats(0x1p31f), t, Floats{});
  return bits<Words>(to_ints(small)) & words((1u << n_bits) - 1u);
}

// Sixteen samples to codes: the b bits of i* (and t*) in `high`, the appended bits of t* in `low`.
inline void encode(const Encoding& how, const std::uint32_t* i_star, const float* t_star, const std::uint32_t* salt_low,
                   const std::uint32_t* salt_high, std::uint32_t* high, std::uint32_t* low) {
  const Words i = load<Words>(i_star);
  const Floats t = load<Floats>(t_star);
  if (how.mixed) {
    const Words t_bits = how.all_of_t ? bits<Words>(t) : Words{};
    store(high, mixed(i, t_bits, load<Words>(salt_low), load<Words>(salt_high), how.bits));
  } else {
    store(high, low_bits(i, how.n_columns, how.bits));
  }
  store(low, low_bits_of_t(t, how.t_bits));
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
