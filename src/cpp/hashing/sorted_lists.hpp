// For each hash the features with the least s = ln c - r, sorted: see sorted_scan.simd.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/shared_build.hpp"
#include "hashing/functions.hpp"

namespace gcwsnet {

class SortedLists {
 public:
  // Only allocates. With a shift of 1 the lists hold only the even features, the positive parts.
  SortedLists(std::size_t n_features, std::size_t n_blocks, int shift);

  static std::size_t length(std::size_t n_features, int shift);
  static std::size_t bytes(std::size_t n_features, std::size_t n_blocks, int shift) {
    return n_blocks * size_of_block(length(n_features, shift)) * sizeof(float);
  }

  // Builds the lists from the table of the parameters of all features, [block][feature][kTableRow], together with all
  // other threads that need them.
  void finish(const float* table, StopToken& stop_token);

  SortedFeatures block(std::size_t number) const {
    return {list(number * kHashBlock), length_, length_ == n_features_ >> shift_};
  }
  std::size_t length() const { return length_; }
  // Mean over hashes of the s at a place.
  float mean_s(std::size_t place) const { return mean_s_[place]; }
  // How many places have a mean s below this.
  std::size_t depth(float s) const {
    return static_cast<std::size_t>(std::lower_bound(mean_s_.begin(), mean_s_.end(), s) - mean_s_.begin());
  }

 private:
  using Order = std::vector<std::pair<float, std::uint32_t>>;  // s and the feature

  static std::size_t n_chunks(std::size_t length) { return (length + kListChunk - 1) / kListChunk + 1; }
  static std::size_t size_of_block(std::size_t length) { return n_chunks(length) * kNextChunk; }
  float* list(std::size_t hash) const {
    return chunks_.get() + hash / kHashBlock * size_of_block(length_) + hash % kHashBlock * kChunkSize;
  }
  static std::size_t at(std::size_t place) { return place / kListChunk * kNextChunk + place % kListChunk; }
  void fill_list(const float* table, std::size_t hash, Order& order);
  float mean_over_hashes(std::size_t place) const;

  std::size_t n_features_, n_blocks_;
  int shift_;
  std::size_t length_;
  Aligned<float> chunks_;
  std::vector<float> mean_s_;
  SharedBuild hashes_, means_;
};

}  // namespace gcwsnet
