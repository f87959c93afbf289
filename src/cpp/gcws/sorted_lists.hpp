// For each hash the features with the least s = ln c - r, sorted: see sorted_scan.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "base/aligned.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"

namespace gcwsnet {

class SortedLists {
 public:
  // From the table of the parameters of all features: [block][feature][kTableRow]. With a shift of 1 the lists hold only
  // the even features, the positive parts.
  SortedLists(const float* table, std::size_t n_features, std::size_t n_blocks, int shift, int n_threads,
              StopSign& stop_sign);

  static std::size_t length(std::size_t n_features, int shift);
  static std::size_t bytes(std::size_t n_features, std::size_t n_blocks, int shift) {
    return n_blocks * (length(n_features, shift) + kPrefetch) * kListPlace * sizeof(float);
  }

  SortedFeatures block(std::size_t number) const {
    return {entries_.get() + number * (length_ + kPrefetch) * kListPlace, length_, all_};
  }
  std::size_t length() const { return length_; }
  // Mean over hashes of the s at a place.
  float mean_s(std::size_t place) const { return mean_s_[place]; }
  // How many places have a mean s below this.
  std::size_t depth(float s) const {
    return static_cast<std::size_t>(std::lower_bound(mean_s_.begin(), mean_s_.end(), s) - mean_s_.begin());
  }

 private:
  std::size_t length_;
  bool all_;
  Aligned<float> entries_;
  std::vector<float> mean_s_;
};

}  // namespace gcwsnet
