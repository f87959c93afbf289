#include "hashing/hasher.hpp"

#include <algorithm>
#include <cmath>

#include "dispatch.hpp"

namespace gcwsnet {

namespace {

// That a thread has at hand; kNearEntries of them stay in a near cache.
constexpr std::size_t kMaxRows = 256, kMaxEntries = std::size_t{1} << 19, kNearEntries = std::size_t{1} << 16,
                      kMaxSamples = std::size_t{1} << 18, kTailRows = 64;

std::unique_ptr<Sampler> make_sampler(Hasher::Method method, const SampleKeys& keys, std::size_t table_bytes,
                                      Scan scan) {
  switch (method) {
    case Hasher::Method::kRejection: return make_rejection(keys, table_bytes);
    case Hasher::Method::kBinwise: return make_binwise(keys, table_bytes);
    case Hasher::Method::kExtremal: return make_extremal(keys);
    case Hasher::Method::kMinwise: return make_minwise(keys);
    default: return make_gcws(keys, table_bytes, scan);
  }
}

KeyStream::Purpose salts_of(Hasher::Method method) {
  switch (method) {
    case Hasher::Method::kRejection: return KeyStream::Purpose::kRejectionSalts;
    case Hasher::Method::kBinwise: return KeyStream::Purpose::kBinwiseSalts;
    case Hasher::Method::kExtremal: return KeyStream::Purpose::kExtremalSalts;
    case Hasher::Method::kMinwise: return KeyStream::Purpose::kMinwiseSalts;
    default: return KeyStream::Purpose::kSalts;
  }
}

}  // namespace

Hasher::Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes, Scan scan,
               Method method)
    : keys_(seed, 2 * n_columns, n_hashes),
      sampler_(make_sampler(method, keys_, table_bytes, scan)),
      salts_low_(keys_.padded_hashes()),
      salts_high_(keys_.padded_hashes()) {
  const KeyStream salts(seed, salts_of(method));
  for (std::size_t j = 0; j < n_hashes; ++j) {
    const Key salt = halves(salts(j));
    salts_low_[j] = salt.low;
    salts_high_[j] = salt.high;
  }
}

void Hasher::hash(const RowSource& rows, const ReadOptions& how, int n_threads, StopToken& stop_token,
                  const Sink& sink) {
  const std::size_t n_rows = rows.n_rows(), max_entries = rows.max_entries();
  if (n_rows == 0) return;
  const HashingFunctions& functions = chosen_instruction_set().hashing;
  const MakeBatchSampler make_sampler = sampler_->start(functions, rows, n_threads, stop_token);
  // Many rows to a block, for those that share the way through a table; few enough for the threads to end together.
  const std::size_t entries_per_row = max_entries / n_rows + 1;
  const auto rows_with = [&](std::size_t n_entries) {  // whole groups where there are several
    const std::size_t n = n_entries / entries_per_row;
    return std::max<std::size_t>(n / kMaxRowGroup * kMaxRowGroup,
                                 std::min<std::size_t>(kMaxRowGroup, kMaxEntries / entries_per_row));
  };
  const std::size_t share =
      n_rows / (4 * static_cast<std::size_t>(std::max(n_threads, 1))) / kMaxRowGroup * kMaxRowGroup;
  const std::size_t rows_per_block =
      std::max<std::size_t>(1, std::min({kMaxRows, rows_with(kMaxEntries), kMaxSamples / keys_.padded_hashes(),
                                         std::max<std::size_t>(share, 64)}));
  const std::size_t near_rows = std::min(rows_per_block, std::max<std::size_t>(1, rows_with(kNearEntries)));
  std::vector<std::size_t> starts;  // of the blocks; the last rows of several threads come in small ones
  const std::size_t tail = n_threads > 1 ? static_cast<std::size_t>(n_threads) * rows_per_block : 0;
  for (std::size_t first = 0; first < n_rows;) {
    starts.push_back(first);
    first += n_rows - first > tail ? rows_per_block : std::min(rows_per_block, kTailRows);
  }
  const std::size_t n_blocks = starts.size();
  starts.push_back(n_rows);

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

void Hasher::samples(const RowSource& rows, const ReadOptions& how, std::int64_t* i_star, std::int64_t* t_star,
                     int n_threads, StopToken& stop_token) {
  const std::size_t n = n_hashes();
  hash(rows, how, n_threads, stop_token, [&](const HashingFunctions&, std::size_t row, const Samples& samples) {
    for (std::size_t j = 0; j < n; ++j) {
      const bool empty = std::isnan(samples.t[j]);
      i_star[row * n + j] = empty ? -1 : static_cast<std::int64_t>(samples.i[j]);
      t_star[row * n + j] = empty ? 0 : static_cast<std::int64_t>(samples.t[j]);
    }
  });
}

template <class Code>
void Hasher::codes(const RowSource& rows, const ReadOptions& how, const Encoding& encoding, Code* out, int n_threads,
                   StopToken& stop_token) {
  hash(rows, how, n_threads, stop_token,
       [&](const HashingFunctions& functions, std::size_t row, const Samples& samples) {
         std::uint32_t high[kHashBlock], low[kHashBlock];
         for (std::size_t j = 0; j < n_hashes(); j += kHashBlock) {
           functions.encode(encoding, samples.i + j, samples.t + j, salts_low_.data() + j, salts_high_.data() + j, high,
                            low);
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

#define GCWSNET_FOR_CODES(Code) \
  template void Hasher::codes(const RowSource&, const ReadOptions&, const Encoding&, Code*, int, StopToken&);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::uint64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
