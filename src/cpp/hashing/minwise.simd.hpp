// Minwise hashing: the feature of a row whose word is the least, for sixteen hashes at a time.
#pragma once

#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The word of a feature for each hash, read as a signed number. As in word(), but for the last step, which no order
// needs.
GCWSNET_INLINE Ints minwise_word(const Words& folded, const Words& high) {
  const Words x = folded * words(0x7feb352du);
  return bits<Ints>((x ^ (x >> 15) ^ high) * words(0x846ca68bu));
}

// Goes on with the least words so far, read from and written to `least`, and their features; of equal words the first
// feature stays. The row has keys whose low halves are folded.
inline void min_words(const Entries& row, const HashKeys& hashes, std::int32_t* least, std::uint32_t* feature) {
  const Words low = folded(load<Words>(hashes.low[0])), high = load<Words>(hashes.high[0]);
  Ints best = load<Ints>(least);
  Words i = load<Words>(feature);
  for (std::size_t e = 0; e < row.n; ++e) {
    const Ints word = minwise_word(words(row.key[e].low) ^ low, words(row.key[e].high) ^ high);
    const Ints better = word < best;
    best = select(better, word, best);
    i = select(better, words(row.feature[e]), i);
  }
  store(least, best);
  store(feature, i);
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
