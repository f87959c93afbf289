// 64-bit keys, counted: key n of a stream is a pure function of (seed, stream, n). The generator is splitmix64.
#pragma once

#include <cstdint>

#include "base/key.hpp"

namespace gcwsnet {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

inline std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

inline Key halves(std::uint64_t key) {
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

class KeyStream {
 public:
  enum class Purpose : std::uint64_t {
    kFeatures = 1,
    kHashes = 2,
    kSalts = 3,
    kSketch = 4,
    kTrials = 5,
    kRejectionSalts = 6,
    kBins = 7,
    kFills = 8,
    kBinwiseSalts = 9,
    kPoints = 10,
    kExtremalSalts = 11,
    kInitialWeights = 14,
    kMinwiseSalts = 18,
  };

  KeyStream(std::uint64_t seed, Purpose purpose)
      : state_(mix64(mix64(seed + kGolden) + static_cast<std::uint64_t>(purpose) * kGolden)) {}

  std::uint64_t operator()(std::uint64_t n) const { return mix64(state_ + (n + 1) * kGolden); }

 private:
  std::uint64_t state_;
};

}  // namespace gcwsnet
