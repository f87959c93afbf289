#include "hashing/tables.hpp"

#include <algorithm>
#include <limits>

namespace gcwsnet {

void Tables::count(std::size_t n_rows, std::size_t n_entries) {
  const ForkSafeLock lock;
  rows_seen_ += n_rows;
  entries_seen_ += n_entries;
}

template <class Number, class Fill>
const Number* Tables::finished(std::unique_ptr<Table<Number>>& table, int shift, std::size_t width, int n_threads,
                               StopToken& stop_token, Fill fill) {
  const std::size_t n_slots = keys_.n_features() >> shift;
  {
    const ForkSafeLock lock;
    if (!table) {
      if (n_slots > (max_bytes_ - taken_bytes_) / (width * sizeof(Number))) return nullptr;
      if (entries_seen_ < n_slots && !at_once_) return nullptr;
      table = std::make_unique<Table<Number>>(n_slots, width);
      taken_bytes_ += n_slots * width * sizeof(Number);
    }
  }
  Number* const numbers = table->numbers.get();
  table->parts.finish(n_threads, stop_token, [&] {
    return [&, feature_keys = std::vector<Key>(kFeaturesPerPart)](std::size_t part) mutable {
      const std::size_t first = part * kFeaturesPerPart;
      const std::size_t n = std::min(kFeaturesPerPart, n_slots - first);
      for (std::size_t i = 0; i < n; ++i)
        feature_keys[i] = keys_.feature(static_cast<std::uint32_t>((first + i) << shift));
      fill(feature_keys.data(), first, n, numbers);
    };
  });
  return numbers;
}

const float* Tables::parameters(const HashingFunctions& functions, int n_threads, StopToken& stop_token) {
  const auto fill = [&](const Key* features, std::size_t first, std::size_t n, float* numbers) {
    for (std::size_t block = 0; block < keys_.n_blocks(); ++block) {
      functions.fill_table(features, n, keys_.hash_block(block),
                           numbers + (block * keys_.n_features() + first) * kTableRow);
    }
  };
  return finished(parameters_, 0, kTableRow * keys_.n_blocks(), n_threads, stop_token, fill);
}

RankTable Tables::ranks(int shift, const HashingFunctions& functions, int n_threads, StopToken& stop_token) {
  const std::size_t width = (keys_.padded_hashes() + kRankWord - 1) / kRankWord * kRankWordBytes;
  const auto fill = [&](const Key* features, std::size_t first, std::size_t n, std::uint8_t* numbers) {
    functions.fill_ranks(features, n, keys_.hash_blocks(), keys_.n_blocks(), numbers + first * width, width);
  };
  return {finished(ranks_[shift], shift, width, n_threads, stop_token, fill), keys_.padded_hashes(), width, shift};
}

const SortedLists* Tables::lists(int shift, StopToken& stop_token) {
  const std::size_t n_features = keys_.n_features(), n_blocks = keys_.n_blocks();
  std::unique_ptr<SortedLists>& lists = lists_[shift];
  const float* table;
  {
    const ForkSafeLock lock;
    table = parameters_->numbers.get();
    if (!lists) {
      const std::size_t bytes = SortedLists::bytes(n_features, n_blocks, shift);
      const bool pays = rows_seen_ >= kRowsForLists || at_once_;
      const bool countable = n_features <= std::numeric_limits<std::int32_t>::max();  // features are compared as signed
      if (!countable || !pays || bytes > max_bytes_ - taken_bytes_) return nullptr;
      lists = std::make_unique<SortedLists>(n_features, n_blocks, shift);
      taken_bytes_ += bytes;
    }
  }
  lists->finish(table, stop_token);
  return lists.get();
}

}  // namespace gcwsnet
