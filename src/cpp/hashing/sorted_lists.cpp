#include "hashing/sorted_lists.hpp"

#include <cstring>
#include <limits>

namespace gcwsnet {

namespace {

constexpr std::size_t kPlacesPerPart = 64;

}  // namespace

// Scans that go deeper than this are better done another way.
std::size_t SortedLists::length(std::size_t n_features, int shift) {
  const std::size_t n = n_features >> shift;
  return std::min<std::size_t>(n, n > 4096 ? 2048 : 1024);
}

SortedLists::SortedLists(std::size_t n_features, std::size_t n_blocks, int shift)
    : n_features_(n_features),
      n_blocks_(n_blocks),
      shift_(shift),
      length_(length(n_features, shift)),
      chunks_(aligned<float>(bytes(n_features, n_blocks, shift) / sizeof(float))),
      mean_s_(length_),
      hashes_(n_blocks * kHashBlock),
      means_(blocks_of(length_, kPlacesPerPart)) {}

void SortedLists::finish(const float* table, StopToken& stop_token) {
  hashes_.finish(1, stop_token, [&] {
    return [&, order = Order(n_features_ >> shift_)](std::size_t hash) mutable { fill_list(table, hash, order); };
  });
  means_.finish(1, stop_token, [&] {
    return [&](std::size_t part) {
      const std::size_t end = std::min((part + 1) * kPlacesPerPart, length_);
      for (std::size_t place = part * kPlacesPerPart; place < end; ++place) mean_s_[place] = mean_over_hashes(place);
    };
  });
}

void SortedLists::fill_list(const float* table, std::size_t hash, Order& order) {
  const std::size_t block = hash / kHashBlock, lane = hash % kHashBlock;
  const float* const of_hash = table + block * n_features_ * kTableRow + lane;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const float* q = of_hash + (i << shift_) * kTableRow;  // 1/r, beta, offset, r
    order[i] = {q[2 * kHashBlock] - q[3 * kHashBlock] * q[kHashBlock], static_cast<std::uint32_t>(i << shift_)};
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(length_);
  std::nth_element(order.begin(), end - 1, order.end());
  std::sort(order.begin(), end);
  for (std::size_t place = 0; place < n_chunks(length_) * kListChunk; ++place) {
    const auto& [s, feature] = order[std::min(place, length_ - 1)];
    const std::uint32_t slot = feature >> shift_;
    float* entry = list(hash) + at(place);
    entry[0] = s;
    for (std::size_t field = 0; field < 4; ++field) {
      entry[(1 + field) * kListChunk] = of_hash[std::size_t{feature} * kTableRow + field * kHashBlock];
    }
    if (place >= length_) entry[3 * kListChunk] = std::numeric_limits<float>::infinity();
    std::memcpy(entry + 5 * kListChunk, &slot, sizeof slot);
  }
}

float SortedLists::mean_over_hashes(std::size_t place) const {
  double sum = 0.0;
  for (std::size_t hash = 0; hash < n_blocks_ * kHashBlock; ++hash) sum += list(hash)[at(place)];
  return static_cast<float>(sum / static_cast<double>(n_blocks_ * kHashBlock));
}

}  // namespace gcwsnet
