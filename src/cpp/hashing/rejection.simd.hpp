// What trials of rejection sampling are made of, sixteen at a time. gcwsnet.hashing has the same in NumPy.
#pragma once

#include "hashing/encode.simd.hpp"
#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// Of sixteen trials.
inline void log_heights(const std::uint32_t* words, float* log_height) {
  store(log_height, log(unit31(load<Words>(words))));
}

// The t of sixteen GCWS samples becomes a number from -2^23 to -1, so that it meets only its like.
inline void mark_fallbacks(float* t) {
  const Words mark = scramble(load<Words>(t)) >> 9;
  store(t, floats(-1.0f) - to_floats(bits<Ints>(mark)));
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
