#include "hasher.hpp"

#include <algorithm>

namespace gcwsnet {

Hasher::Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes)
    : n_columns_(n_columns),
      n_hashes_(n_hashes),
      table_bytes_(table_bytes),
      feature_keys_(seed, KeyStream::Purpose::kFeatures),
      hash_keys_((n_hashes + kHashBlock - 1) / kHashBlock),
      salts_low_(padded_hashes()),
      salts_high_(padded_hashes()) {
  const KeyStream hash_keys(seed, KeyStream::Purpose::kHashes);
  const KeyStream salts(seed, KeyStream::Purpose::kSalts);
  for (std::size_t j = 0; j < padded_hashes(); ++j) {
    HashKeys& block = hash_keys_[j / kHashBlock];
    for (std::size_t w = 0; w < 4; ++w) {
      const Key key = halves(hash_keys(4 * j + w));
      block.low[w][j % kHashBlock] = key.low;
      block.high[w][j % kHashBlock] = key.high;
    }
    const Key salt = halves(salts(j));
    salts_low_[j] = salt.low;
    salts_high_[j] = salt.high;
  }
}

const float* Hasher::table_for(std::size_t n_entries, const InstructionSet& set, int n_threads, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(table_mutex_);
  if (table_) return table_.get();
  entries_seen_ += n_entries;
  const std::size_t row_bytes = padded_hashes() * 4 * sizeof(float);
  if (n_features() > table_bytes_ / row_bytes || entries_seen_ < n_features()) return nullptr;

  constexpr std::size_t kChunk = 512;
  const std::size_t n_chunks = (n_features() + kChunk - 1) / kChunk;
  std::unique_ptr<float[]> table(new float[n_features() * padded_hashes() * 4]);
  for_each_block(n_chunks, n_threads, stop_sign, [&] {
    return [&, keys = std::vector<Key>(kChunk)](std::size_t chunk) mutable {
      const std::size_t first = chunk * kChunk;
      const std::size_t n = std::min(kChunk, n_features() - first);
      for (std::size_t i = 0; i < n; ++i) keys[i] = halves(feature_keys_(first + i));
      for (std::size_t block = 0; block < n_blocks(); ++block) {
        set.fill_table(keys.data(), n, hash_keys_[block], table.get() + (block * n_features() + first) * kTableRow);
      }
    };
  });
  table_ = std::move(table);
  return table_.get();
}

void Hasher::scan(const InstructionSet& set, const float* table, std::size_t block, const Entries& row,
                  const Samples& samples, StopSign& stop_sign) const {
  for (std::size_t from = 0; from < row.n; from += kPiece) {
    if (from > 0) stop_sign.poll();
    const Entries piece = {row.feature + from, row.L + from, row.key == nullptr ? nullptr : row.key + from,
                           std::min(kPiece, row.n - from)};
    if (table != nullptr) {
      set.scan_table(piece, table + block * n_features() * kTableRow, samples);
    } else {
      set.scan_generated(piece, hash_keys_[block], samples);
    }
  }
}

}  // namespace gcwsnet
