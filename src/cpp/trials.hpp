// Rejection sampling: sixteen hashes look at their trials together. samplers/rejection.py is the same in NumPy.
#pragma once

#include "encode.hpp"
#include "parameters.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// n is a multiple of kLanes.
inline void log_heights(const std::uint32_t* words, std::size_t n, float* log_height) {
  for (std::size_t i = 0; i < n; i += kLanes) store(log_height + i, log(unit31(load<Words>(words + i))));
}

// Where a hash still waits, the first of these trials that the row accepts is its sample. The share of trial n under its
// cap is share[at[n]]; `first` is the number of the first trial. Whether a hash waits still.
inline bool accept_trials(const TrialChunk& trials, std::uint32_t first, const float* share, const std::uint32_t* at,
                          std::int32_t* waiting, const Samples& samples) {
  Ints left = load<Ints>(waiting);
  Floats t = load<Floats>(samples.t);
  Words i = load<Words>(samples.i);
  for (int trial = 0; trial < kTrialChunk * kLanes && any(left); trial += kLanes) {
    const Floats row = gathered<Floats>(share, load<Words>(at + trial));
    const Ints refused = row < load<Floats>(trials.log_height + trial);
    const Ints accepted = left & (refused ^ ints(-1));
    t = select(accepted, floats(static_cast<float>(first + trial / kLanes)), t);
    i = select(accepted, load<Words>(trials.feature + trial), i);
    left = left & refused;
  }
  store(waiting, left);
  store(samples.t, t);
  store(samples.i, i);
  return any(left);
}

// Where a hash still waits, its sample is that of GCWS with a t from -2^23 to -1, so that it meets only its like.
inline void mark_fallen_back(const Samples& gcws, const std::int32_t* waiting, const Samples& samples) {
  const Ints left = load<Ints>(waiting);
  const Words mark = scramble(bits<Words>(load<Floats>(gcws.t))) >> 9;
  const Floats t = floats(-1.0f) - to_floats(bits<Ints>(mark));
  store(samples.t, select(left, t, load<Floats>(samples.t)));
  store(samples.i, select(left, load<Words>(gcws.i), load<Words>(samples.i)));
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
