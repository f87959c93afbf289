// The keys that samples are drawn with: a key of each feature, and four of each hash.
#pragma once

#include <vector>

#include "base/keys.hpp"
#include "hashing/functions.hpp"

namespace gcwsnet {

class SampleKeys {
 public:
  // The last block of hashes is filled up with the hashes that follow.
  SampleKeys(std::uint64_t seed, std::size_t n_features, std::size_t n_hashes)
      : seed_(seed),
        n_features_(n_features),
        n_hashes_(n_hashes),
        features_(seed, KeyStream::Purpose::kFeatures),
        hashes_((n_hashes + kHashBlock - 1) / kHashBlock) {
    const KeyStream keys(seed, KeyStream::Purpose::kHashes);
    for (std::size_t j = 0; j < padded_hashes(); ++j) {
      HashKeys& block = hashes_[j / kHashBlock];
      for (std::size_t w = 0; w < 4; ++w) {
        const Key key = halves(keys(std::uint64_t{4} * j + w));
        block.low[w][j % kHashBlock] = key.low;
        block.high[w][j % kHashBlock] = key.high;
      }
    }
  }

  std::uint64_t seed() const { return seed_; }
  std::size_t n_features() const { return n_features_; }
  std::size_t n_columns() const { return n_features_ / 2; }
  std::size_t n_hashes() const { return n_hashes_; }
  std::size_t n_blocks() const { return hashes_.size(); }
  std::size_t padded_hashes() const { return n_blocks() * kHashBlock; }

  Key feature(std::uint32_t number) const { return halves(features_(number)); }
  const HashKeys& hash_block(std::size_t number) const { return hashes_[number]; }
  const HashKeys* hash_blocks() const { return hashes_.data(); }

 private:
  std::uint64_t seed_;
  std::size_t n_features_, n_hashes_;
  KeyStream features_;
  std::vector<HashKeys> hashes_;
};

}  // namespace gcwsnet
