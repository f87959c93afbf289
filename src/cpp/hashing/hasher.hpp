// Samples and codes of the rows of a matrix. The hasher shares the rows among threads and encodes; a sampler draws.
#pragma once

#include <algorithm>

#include "dispatch.hpp"
#include "hashing/sampler.hpp"

namespace gcwsnet {

class Hasher {
 public:
  enum class Method { kGcws, kRejection, kBinwise, kExtremal, kMinwise };

  // Tables take at most `table_bytes`. `scan` is for GCWS.
  Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes,
         Scan scan, Method method);
  Hasher(const Hasher&) = delete;  // the sampler refers to the keys
  Hasher& operator=(const Hasher&) = delete;

  std::size_t n_columns() const { return keys_.n_columns(); }
  std::size_t n_hashes() const { return keys_.n_hashes(); }
  Sampler& sampler() { return *sampler_; }

  // i* and t*, rows x n_hashes each; -1 and 0 for a row without non-zero entries.
  template <class Rows>
  void samples(const Rows& rows, const ReadOptions& how, std::int64_t* i_star, std::int64_t* t_star, int n_threads,
               StopToken& stop_token) {
    const std::size_t n = n_hashes();
    hash(rows, how, n_threads, stop_token, [&](const HashingFunctions&, std::size_t row, const Samples& samples) {
      for (std::size_t j = 0; j < n; ++j) {
        const bool empty = std::isnan(samples.t[j]);
        i_star[row * n + j] = empty ? -1 : static_cast<std::int64_t>(samples.i[j]);
        t_star[row * n + j] = empty ? 0 : static_cast<std::int64_t>(samples.t[j]);
      }
    });
  }

  // Codes, rows x n_hashes.
  template <class Rows, class Code>
  void codes(const Rows& rows, const ReadOptions& how, const Encoding& encoding, Code* out, int n_threads,
             StopToken& stop_token) {
    hash(rows, how, n_threads, stop_token, [&](const HashingFunctions& functions, std::size_t row, const Samples& samples) {
      std::uint32_t high[kHashBlock], low[kHashBlock];
      for (std::size_t j = 0; j < n_hashes(); j += kHashBlock) {
        functions.encode(encoding, samples.i + j, samples.t + j, salts_low_.data() + j, salts_high_.data() + j, high, low);
        const std::size_t here = std::min<std::size_t>(kHashBlock, n_hashes() - j);
        Code* to = out + row * n_hashes() + j;
        if (encoding.t_bits == 0) {
          for (std::size_t lane = 0; lane < here; ++lane) to[lane] = static_cast<Code>(high[lane]);
          continue;
        }
        for (std::size_t lane = 0; lane < here; ++lane) {
          to[lane] = static_cast<Code>((std::uint64_t{high[lane]} << encoding.t_bits) | low[lane]);
        }
      }
    });
  }

 private:
  // That a thread has at hand; kNearEntries of them stay in a near cache.
  static constexpr std::size_t kMaxRows = 256, kMaxEntries = std::size_t{1} << 19, kNearEntries = std::size_t{1} << 16,
                               kMaxSamples = std::size_t{1} << 18, kTailRows = 64;

  // sink(functions, row, samples) for each row; there are padded_hashes() samples.
  template <class Rows, class Sink>
  void hash(const Rows& rows, const ReadOptions& how, int n_threads, StopToken& stop_token, Sink sink);

  const SampleKeys keys_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::uint32_t> salts_low_, salts_high_;
};

template <class Rows, class Sink>
void Hasher::hash(const Rows& rows, const ReadOptions& how, int n_threads, StopToken& stop_token, Sink sink) {
  if (rows.n_rows == 0) return;
  const HashingFunctions& functions = chosen_instruction_set().hashing;
  const MatrixSummary matrix = {rows.n_rows, rows.max_entries(), [&] { return rows.zero_one(); }};
  const MakeBatchSampler make_sampler = sampler_->start(functions, matrix, n_threads, stop_token);
  // Many rows to a block, for those that share the way through a table; few enough for the threads to end together.
  const std::size_t entries_per_row = rows.max_entries() / rows.n_rows + 1;
  const auto rows_with = [&](std::size_t n_entries) {  // whole groups where there are several
    const std::size_t n = n_entries / entries_per_row;
    return std::max<std::size_t>(n / kMaxRowGroup * kMaxRowGroup, std::min<std::size_t>(kMaxRowGroup, kMaxEntries / entries_per_row));
  };
  const std::size_t share = rows.n_rows / (4 * static_cast<std::size_t>(std::max(n_threads, 1))) / kMaxRowGroup * kMaxRowGroup;
  const std::size_t rows_per_block =
      std::max<std::size_t>(1, std::min({kMaxRows, rows_with(kMaxEntries), kMaxSamples / keys_.padded_hashes(),
                                         std::max<std::size_t>(share, 64)}));
  const std::size_t near_rows = std::min(rows_per_block, std::max<std::size_t>(1, rows_with(kNearEntries)));
  std::vector<std::size_t> starts;  // of the blocks; the last rows of several threads come in small ones
  const std::size_t tail = n_threads > 1 ? static_cast<std::size_t>(n_threads) * rows_per_block : 0;
  for (std::size_t first = 0; first < rows.n_rows;) {
    starts.push_back(first);
    first += rows.n_rows - first > tail ? rows_per_block : std::min(rows_per_block, kTailRows);
  }
  const std::size_t n_blocks = starts.size();
  starts.push_back(rows.n_rows);

  for_each_block(n_blocks, n_threads, stop_token, [&] {
    return [&, sampler = make_sampler(), batch = RowBatch(),
            samples = SampleBuffer(keys_.padded_hashes())](std::size_t block) mutable {
      const std::size_t end = starts[block + 1];
      for (std::size_t first = starts[block]; first < end;) {
        const std::size_t n = std::min(sampler->wants_many_rows() ? rows_per_block : near_rows, end - first);
        batch.clear();
        for (std::size_t row = first; row < first + n; ++row) {
          batch.summary.push_back(rows.read(functions, row, how, sampler->takes_zeros(), batch.entries));
          batch.start.push_back(batch.entries.size());
        }
        samples.resize(n);
        sampler->sample(batch, samples);
        for (std::size_t row = 0; row < n; ++row) sink(functions, first + row, samples.at(row));
        first += n;
      }
    };
  });
}

}  // namespace gcwsnet
