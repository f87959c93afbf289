#include "gcws/tables.hpp"

#include <algorithm>
#include <limits>

namespace gcwsnet {

Tables::Tables(std::uint64_t seed, std::size_t n_features, const std::vector<std::uint32_t>& hashes,
               std::size_t most_bytes, bool at_once)
    : n_features_(n_features),
      most_bytes_(most_bytes),
      at_once_(at_once),
      feature_keys_(seed, KeyStream::Purpose::kFeatures),
      hash_keys_(hashes.size() / kHashBlock) {
  const KeyStream keys(seed, KeyStream::Purpose::kHashes);
  for (std::size_t j = 0; j < hashes.size(); ++j) {
    HashKeys& block = hash_keys_[j / kHashBlock];
    for (std::size_t w = 0; w < 4; ++w) {
      const Key key = halves(keys(std::uint64_t{4} * hashes[j] + w));
      block.low[w][j % kHashBlock] = key.low;
      block.high[w][j % kHashBlock] = key.high;
    }
  }
}

void Tables::count(std::size_t n_rows, std::size_t n_entries) {
  const std::lock_guard<std::mutex> lock(mutex_);
  rows_seen_ += n_rows;
  entries_seen_ += n_entries;
}

template <class Number, class Fill>
Aligned<Number> Tables::made(int shift, std::size_t width, int n_threads, StopSign& stop_sign, Fill fill) {
  constexpr std::size_t kChunk = 512;
  const std::size_t n_slots = n_features_ >> shift;
  if (n_slots > (most_bytes_ - taken_bytes_) / (width * sizeof(Number)) / n_blocks()) return nullptr;
  if (entries_seen_ < n_slots && !at_once_) return nullptr;
  Aligned<Number> table = aligned<Number>(n_slots * width * n_blocks());
  for_each_block((n_slots + kChunk - 1) / kChunk, n_threads, stop_sign, [&] {
    return [&, keys = std::vector<Key>(kChunk)](std::size_t chunk) mutable {
      const std::size_t first = chunk * kChunk;
      const std::size_t n = std::min(kChunk, n_slots - first);
      for (std::size_t i = 0; i < n; ++i) keys[i] = feature_key(static_cast<std::uint32_t>((first + i) << shift));
      for (std::size_t block = 0; block < n_blocks(); ++block) {
        fill(keys.data(), n, hash_keys_[block], table.get() + (block * n_slots + first) * width);
      }
    };
  });
  taken_bytes_ += n_slots * width * n_blocks() * sizeof(Number);
  return table;
}

const float* Tables::parameters(const InstructionSet& set, int n_threads, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!parameters_) parameters_ = made<float>(0, kTableRow, n_threads, stop_sign, set.fill_table);
  return parameters_.get();
}

const SortedLists* Tables::lists(int shift, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<SortedLists>& lists = lists_[shift];
  if (lists) return lists.get();
  const std::size_t bytes = SortedLists::bytes(n_features_, n_blocks(), shift);
  const bool pays = rows_seen_ >= kRowsForLists || at_once_;
  const bool countable = n_features_ <= std::numeric_limits<std::int32_t>::max();  // features are compared as signed
  if (!countable || !pays || bytes > most_bytes_ - taken_bytes_) return nullptr;
  lists = std::make_unique<SortedLists>(parameters_.get(), n_features_, n_blocks(), shift, 1, stop_sign);
  taken_bytes_ += bytes;
  return lists.get();
}

const std::int16_t* Tables::ranks(int shift, const InstructionSet& set, int n_threads, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Aligned<std::int16_t>& ranks = ranks_[shift];
  if (!ranks) ranks = made<std::int16_t>(shift, kHashBlock, n_threads, stop_sign, set.fill_ranks);
  return ranks.get();
}

}  // namespace gcwsnet
