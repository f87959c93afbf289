#include "gcws/sorted_lists.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcwsnet {

// Scans that go deeper than this are better done another way.
std::size_t SortedLists::length(std::size_t n_features, int shift) {
  const std::size_t n = n_features >> shift;
  return std::min<std::size_t>(n, n > 4096 ? 2048 : 1024);
}

SortedLists::SortedLists(const float* table, std::size_t n_features, std::size_t n_blocks, int shift, int n_threads,
                         StopSign& stop_sign)
    : length_(length(n_features, shift)), all_(length_ == n_features >> shift), mean_s_(length_) {
  entries_ = aligned<float>(bytes(n_features, n_blocks, shift) / sizeof(float));
  for_each_block(n_blocks, n_threads, stop_sign, [&] {
    return [&, order = std::vector<std::pair<float, std::uint32_t>>(n_features >> shift)](std::size_t number) mutable {
      const float* of_block = table + number * n_features * kTableRow;
      float* list = entries_.get() + number * (length_ + kPrefetch) * kListPlace;
      for (int hash = 0; hash < kHashBlock; ++hash) {
        for (std::size_t i = 0; i < order.size(); ++i) {
          const float* q = of_block + (i << shift) * kTableRow + hash;  // 1/r, beta, offset, r
          order[i] = {q[2 * kHashBlock] - q[3 * kHashBlock] * q[kHashBlock], static_cast<std::uint32_t>(i << shift)};
        }
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(length_);
        std::nth_element(order.begin(), end - 1, order.end());
        std::sort(order.begin(), end);
        for (std::size_t place = 0; place < length_ + kPrefetch; ++place) {
          const auto& [s, feature] = order[std::min(place, length_ - 1)];
          float* entry = list + place * kListPlace + hash;
          entry[0] = s;
          for (int field = 0; field < 4; ++field) {
            entry[(1 + field) * kHashBlock] = of_block[std::size_t{feature} * kTableRow + field * kHashBlock + hash];
          }
          std::memcpy(entry + 5 * kHashBlock, &feature, sizeof feature);
        }
        stop_sign.poll();
      }
    };
  });
  for (std::size_t place = 0; place < length_; ++place) {
    double sum = 0.0;
    for (std::size_t number = 0; number < n_blocks; ++number) {
      const float* s = block(number).entries + place * kListPlace;
      for (int hash = 0; hash < kHashBlock; ++hash) sum += s[hash];
    }
    mean_s_[place] = static_cast<float>(sum / static_cast<double>(n_blocks * kHashBlock));
  }
}

}  // namespace gcwsnet
