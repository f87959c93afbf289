// The random parameters of Algorithm 1: r and c of Gamma(2, 1), beta of Uniform(0, 1), for one feature and sixteen
// hashes.
//
// Four 32-bit words come from the key of the feature and the four keys of the hash. With uniforms w1, u2, v2 and
//   E1 = -ln(1 - w1), E2 = -ln v2, c = E1 + E2, r = -ln(u1 u2) where u1 = E1 / c,
// c and u1 are independent, so c and r are independent Gamma(2, 1). ln c - r = ln(E1 u2) follows without a division.
// gcwsnet.hashing has the same in NumPy; docs/hash-specification.md says it in words.
#pragma once

#include "base/logarithm.simd.hpp"
#include "hashing/functions.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr float kSmallestR = 0x1p-20f;

// A hash of 64 bits to 32. The keys it is given are themselves uniform.
GCWSNET_INLINE Words word_of_folded(const Words& folded, const Words& high) {
  Words x = folded * words(0x7feb352du);
  x = x ^ (x >> 15) ^ high;
  x = x * words(0x846ca68bu);
  return x ^ (x >> 16);
}
// Linear: the keys of a feature and of a hash may be folded before they meet.
GCWSNET_INLINE Words folded(const Words& low) { return low ^ (low >> 16); }
GCWSNET_INLINE Words word(const Words& low, const Words& high) { return word_of_folded(folded(low), high); }

// An odd multiple of 2^-31 below 1, rounded to a float: fine steps where it is small.
GCWSNET_INLINE Floats unit31(const Words& h) { return to_floats(bits<Ints>((h >> 1) | words(1))) * floats(0x1p-31f); }
// An odd multiple of 2^-24 below 1.
GCWSNET_INLINE Floats unit24(const Words& h) { return to_floats(bits<Ints>((h >> 8) | words(1))) * floats(0x1p-24f); }

// What the scan needs of (r, c, beta): t = floor(L inverse_r + beta) and a = offset - r t.
struct Parameters {
  Floats inverse_r, beta, offset, r;
};

// The uniforms w1 and u2 share the first two words.
GCWSNET_INLINE Floats uniform_w1(const Words& h0, const Words& h1) {
  return unit31((h0 & words(0xffff0000u)) | (h1 >> 16));
}
GCWSNET_INLINE Floats uniform_u2(const Words& h0, const Words& h1) {
  return unit31((h0 << 16) | (h1 & words(0xffffu)));
}
GCWSNET_INLINE Parameters parameters(const Floats& e1, const Floats& c, const Floats& u2, const Floats& beta) {
  const Floats log_c = log(c);
  const Floats r = maximum(log_c - log(e1 * u2), floats(kSmallestR));
  return {floats(1.0f) / r, beta, log_c - r * (floats(1.0f) - beta), r};
}
GCWSNET_INLINE Parameters parameters(const Words& h0, const Words& h1, const Words& h2, const Words& h3) {
  const Floats e1 = minus_log1m(uniform_w1(h0, h1));
  return parameters(e1, e1 - log(unit24(h2)), uniform_u2(h0, h1), unit24(h3));
}
// Word number w of one feature and sixteen hashes.
GCWSNET_INLINE Words word_of(const Key& feature, const HashKeys& hashes, int w) {
  return word(words(feature.low) ^ load<Words>(hashes.low[w]), words(feature.high) ^ load<Words>(hashes.high[w]));
}
GCWSNET_INLINE Parameters parameters(const Key& feature, const HashKeys& hashes) {
  return parameters(word_of(feature, hashes, 0), word_of(feature, hashes, 1), word_of(feature, hashes, 2),
                    word_of(feature, hashes, 3));
}

// The same parameters for several packs, in steps. Each pack is a long chain of operations that wait for one another,
// longer than what a processor looks ahead; in short steps the packs go side by side.
class ParameterPacks {
 public:
  static constexpr std::size_t kMax = 8;

  GCWSNET_INLINE void set(std::size_t pack, const Words& h0, const Words& h1, const Words& h2, const Words& h3) {
    store(w1_[pack], uniform_w1(h0, h1));
    store(u2_[pack], uniform_u2(h0, h1));
    store(v2_[pack], unit24(h2));
    store(beta_[pack], unit24(h3));
  }
  GCWSNET_INLINE void set(std::size_t pack, const Key& feature, const HashKeys& hashes) {
    set(pack, word_of(feature, hashes, 0), word_of(feature, hashes, 1), word_of(feature, hashes, 2),
        word_of(feature, hashes, 3));
  }
  // After the first n packs are set.
  GCWSNET_INLINE void take_logarithms(std::size_t n) {
    for (std::size_t pack = 0; pack < n; ++pack) {
      const Floats e1 = minus_log1m(load<Floats>(w1_[pack]));
      store(e1_[pack], e1);
      store(c_[pack], e1 - log(load<Floats>(v2_[pack])));
    }
  }
  GCWSNET_INLINE Parameters at(std::size_t pack) const {
    return parameters(load<Floats>(e1_[pack]), load<Floats>(c_[pack]), load<Floats>(u2_[pack]),
                      load<Floats>(beta_[pack]));
  }

 private:
  float w1_[kMax][kLanes], u2_[kMax][kLanes], v2_[kMax][kLanes], beta_[kMax][kLanes], e1_[kMax][kLanes],
      c_[kMax][kLanes];
};

GCWSNET_INLINE void store_parameters(float* row, const Parameters& q) {
  store(row, q.inverse_r);
  store(row + kLanes, q.beta);
  store(row + 2 * kLanes, q.offset);
  store(row + 3 * kLanes, q.r);
}
GCWSNET_INLINE Parameters load_parameters(const float* row) {
  return {load<Floats>(row), load<Floats>(row + kLanes), load<Floats>(row + 2 * kLanes),
          load<Floats>(row + 3 * kLanes)};
}

// The table rows of n features for one block of sixteen hashes.
inline void fill_table(const Key* features, std::size_t n, const HashKeys& hashes, float* table) {
  ParameterPacks packs;
  for (std::size_t from = 0; from < n; from += ParameterPacks::kMax) {
    const std::size_t here = n - from < ParameterPacks::kMax ? n - from : ParameterPacks::kMax;
    for (std::size_t i = 0; i < here; ++i) packs.set(i, features[from + i], hashes);
    packs.take_logarithms(here);
    for (std::size_t i = 0; i < here; ++i) store_parameters(table + (from + i) * kTableRow, packs.at(i));
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
