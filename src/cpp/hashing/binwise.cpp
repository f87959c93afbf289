#include <algorithm>
#include <limits>

#include "base/aligned.hpp"
#include "base/shared_build.hpp"
#include "hashing/sampler.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kAtOnce = 1024;                   // pairs of a feature and a hash
constexpr std::size_t kMaxKept = std::size_t{1} << 28;  // features: their numbers are places of a gather
constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::uint64_t kWorst = ~std::uint64_t{0};

// Some pairs with what is needed of them.
struct PairBuffer {
  std::uint32_t low[kAtOnce], high[kAtOnce], hash[kAtOnce], feature[kAtOnce], order[kAtOnce];
  float L[kAtOnce], t[kAtOnce];
  std::size_t n = 0;

  void add(const Key& key, std::uint32_t hash_number, std::uint32_t feature_number, float log_weight) {
    low[n] = key.low;
    high[n] = key.high;
    hash[n] = hash_number;
    feature[n] = feature_number;
    L[n] = log_weight;
    ++n;
  }
  // The last pack is filled up: it is read as a whole.
  Pairs pairs() {
    for (std::size_t i = n; i % kHashBlock != 0; ++i) {
      low[i] = high[i] = hash[i] = 0;
      L[i] = 0.0f;
    }
    return {low, high, hash, n};
  }
};

class Binwise : public Sampler {
 public:
  // What is kept between rows takes at most `table_bytes`.
  Binwise(const SampleKeys& keys, std::size_t table_bytes);

  MakeBatchSampler start(const HashingFunctions& functions, const RowSource& rows, int n_threads,
                         StopToken& stop_token) override;

  std::size_t n_bins() const { return n_bins_; }
  const SampleKeys& keys() const { return keys_; }
  std::uint32_t bin_of_column(std::uint32_t column) const { return below_n_bins(bins_(column)); }

  static constexpr std::uint64_t kAttempts = 64, kKeptAttempts = 16;
  // The bin drawn for an empty one.
  std::uint32_t drawn(std::size_t bin, std::uint64_t attempt) const {
    return below_n_bins(fills_(kAttempts * bin + attempt));
  }

  // The bin of each column, and the parameters of each feature for the hash of its bin.
  struct Columns {
    explicit Columns(std::size_t n_features);
    static std::size_t bytes(std::size_t n_features);

    Aligned<std::uint32_t> bin;
    Aligned<float> parameters;
    PairTable table;  // of the parameters
    SharedBuild parts;
  };
  // The first bins drawn for each one, [bin][kKeptAttempts].
  struct DrawnBins {
    explicit DrawnBins(std::size_t n_bins);
    static std::size_t bytes(std::size_t n_bins) { return n_bins * kKeptAttempts * sizeof(std::uint32_t); }

    Aligned<std::uint32_t> bins;
    SharedBuild parts;
  };
  // What is kept between rows; nullptr before it pays, and where there is no memory for it.
  struct Kept {
    Columns* columns;
    DrawnBins* drawn;
  };

 private:
  std::uint32_t below_n_bins(std::uint64_t key) const {
    return static_cast<std::uint32_t>((std::uint64_t{halves(key).high} * n_bins_) >> 32);
  }
  // What pays for that many entries more. Memory is allocated, not filled.
  Kept kept_for(std::size_t n_entries);
  void finish(Columns& columns, const HashingFunctions& functions, int n_threads, StopToken& stop_token) const;
  void finish(DrawnBins& drawn_bins, int n_threads, StopToken& stop_token) const;

  const SampleKeys& keys_;
  KeyStream bins_, fills_;
  const std::size_t n_bins_, table_bytes_;
  // The rest is read and changed under a ForkSafeLock. What is kept is never replaced, so its content needs none.
  std::size_t entries_seen_ = 0, taken_bytes_ = 0;
  std::unique_ptr<Columns> columns_;
  std::unique_ptr<DrawnBins> drawn_;
};

class BinwiseRowSampler : public RowSampler {
 public:
  BinwiseRowSampler(const HashingFunctions& functions, const Binwise& binwise, const Binwise::Kept& kept,
                    StopToken& stop_token)
      : RowSampler(stop_token), functions_(functions), binwise_(binwise), keys_(binwise.keys()), kept_(kept) {}

 private:
  void sample_row(const Entries& row, const Samples& samples) override {
    best_.assign(binwise_.n_bins(), kWorst);
    bin_.resize(row.n);
    t_.resize(row.n);
    for (std::size_t from = 0; from < row.n; from += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, row.n - from);
      take_own_pairs({row.feature + from, row.L + from, nullptr, n}, from);
      stop_token_.poll();
    }
    std::size_t n_empty = 0;
    for (std::size_t bin = 0; bin < best_.size(); ++bin) {
      if (best_[bin] == kWorst) {
        ++n_empty;
        continue;
      }
      const std::uint32_t e = static_cast<std::uint32_t>(best_[bin]);
      samples.i[bin] = row.feature[e];
      samples.t[bin] = t_[e];
    }
    if (n_empty > 0) fill_empty(row, samples);
  }

  // The entries from number `first` on, each for the hash of its bin.
  void take_own_pairs(const Entries& piece, std::size_t first) {
    std::uint32_t* const bin = bin_.data() + first;
    if (kept_.columns != nullptr) {
      for (std::size_t e = 0; e < piece.n; ++e) bin[e] = kept_.columns->bin[piece.feature[e] >> 1];
      functions_.scan_tabled_pairs(piece, kept_.columns->table, buffer_.order, buffer_.t);
    } else {
      buffer_.n = 0;
      for (std::size_t e = 0; e < piece.n; ++e) {
        bin[e] = binwise_.bin_of_column(piece.feature[e] >> 1);
        buffer_.add(keys_.feature(piece.feature[e]), bin[e], piece.feature[e], piece.L[e]);
      }
      functions_.scan_pairs(buffer_.pairs(), buffer_.L, keys_.hash_blocks(), buffer_.order, buffer_.t);
    }
    std::copy_n(buffer_.t, piece.n, t_.begin() + static_cast<std::ptrdiff_t>(first));
    // The least a, then the lowest entry: one number, so that no branch is needed.
    for (std::size_t e = 0; e < piece.n; ++e) {
      best_[bin[e]] = std::min(best_[bin[e]], std::uint64_t{buffer_.order[e]} << 32 | (first + e));
    }
  }

  void fill_empty(const Entries& row, const Samples& samples) {
    first_.assign(binwise_.n_bins(), kNone);
    next_.resize(row.n);
    for (std::size_t e = row.n; e-- > 0;) {
      next_[e] = first_[bin_[e]];
      first_[bin_[e]] = static_cast<std::uint32_t>(e);
    }
    std::size_t behind = 0;  // the first full bin behind, counted cyclically
    while (first_[behind] == kNone) ++behind;
    buffer_.n = 0;
    for (std::size_t bin = binwise_.n_bins(); bin-- > 0;) {
      if (bin % kAtOnce == 0) stop_token_.poll();
      if (first_[bin] != kNone) {
        behind = bin;
        continue;
      }
      for (std::uint32_t e = first_[donor(bin, behind)]; e != kNone; e = next_[e]) {
        if (buffer_.n == kAtOnce) take_pairs(samples);
        const Key key = keys_.feature(row.feature[e]);
        buffer_.add(key, static_cast<std::uint32_t>(bin), row.feature[e], row.L[e]);
      }
    }
    take_pairs(samples);
  }

  std::size_t donor(std::size_t bin, std::size_t behind) const {
    std::uint64_t attempt = 0;
    if (kept_.drawn != nullptr) {
      for (; attempt < Binwise::kKeptAttempts; ++attempt) {
        const std::uint32_t drawn = kept_.drawn->bins[bin * Binwise::kKeptAttempts + attempt];
        if (first_[drawn] != kNone) return drawn;
      }
    }
    for (; attempt < Binwise::kAttempts; ++attempt) {
      const std::uint32_t drawn = binwise_.drawn(bin, attempt);
      if (first_[drawn] != kNone) return drawn;
    }
    return behind;
  }

  // Pairs of a hash come with features ascending: on a tie the lowest stays.
  void take_pairs(const Samples& samples) {
    stop_token_.poll();
    functions_.scan_pairs(buffer_.pairs(), buffer_.L, keys_.hash_blocks(), buffer_.order, buffer_.t);
    for (std::size_t pair = 0; pair < buffer_.n; ++pair) {
      const std::uint32_t hash = buffer_.hash[pair];
      const std::uint64_t order = std::uint64_t{buffer_.order[pair]} << 32;
      if (order >= best_[hash]) continue;
      best_[hash] = order;
      samples.i[hash] = buffer_.feature[pair];
      samples.t[hash] = buffer_.t[pair];
    }
    buffer_.n = 0;
  }

  const HashingFunctions& functions_;
  const Binwise& binwise_;
  const SampleKeys& keys_;
  const Binwise::Kept kept_;
  std::vector<std::uint64_t> best_;                // of each bin: the order of a, and the entry
  std::vector<std::uint32_t> first_;               // entry of each bin
  UninitializedVector<std::uint32_t> bin_, next_;  // of each entry: its bin, and the next entry in it
  UninitializedVector<float> t_;
  PairBuffer buffer_;
};

std::size_t padded(std::size_t n_features) { return (n_features + kHashBlock - 1) / kHashBlock * kHashBlock; }

Binwise::Columns::Columns(std::size_t n_features)
    : bin(aligned<std::uint32_t>(n_features / 2)),
      parameters(aligned<float>(4 * padded(n_features))),
      parts(blocks_of(padded(n_features), kAtOnce)) {
  const std::size_t n = padded(n_features);
  float* const q = parameters.get();
  table = {q, q + n, q + 2 * n, q + 3 * n};
}

std::size_t Binwise::Columns::bytes(std::size_t n_features) {
  return padded(n_features) * 4 * sizeof(float) + n_features / 2 * sizeof(std::uint32_t);
}

Binwise::DrawnBins::DrawnBins(std::size_t n_bins)
    : bins(aligned<std::uint32_t>(n_bins * kKeptAttempts)), parts(blocks_of(n_bins, kAtOnce)) {}

Binwise::Binwise(const SampleKeys& keys, std::size_t table_bytes)
    : keys_(keys),
      bins_(keys.seed(), KeyStream::Purpose::kBins),
      fills_(keys.seed(), KeyStream::Purpose::kFills),
      n_bins_(keys.n_hashes()),
      table_bytes_(table_bytes) {}

Binwise::Kept Binwise::kept_for(std::size_t n_entries) {
  const std::size_t n_features = keys_.n_features();
  const std::size_t column_bytes = Columns::bytes(n_features), drawn_bytes = DrawnBins::bytes(n_bins_);
  const ForkSafeLock lock;
  entries_seen_ += n_entries;
  if (!columns_ && n_features <= kMaxKept && entries_seen_ >= n_features &&
      column_bytes <= table_bytes_ - taken_bytes_) {
    columns_ = std::make_unique<Columns>(n_features);
    taken_bytes_ += column_bytes;
  }
  if (!drawn_ && entries_seen_ >= n_bins_ && drawn_bytes <= table_bytes_ - taken_bytes_) {
    drawn_ = std::make_unique<DrawnBins>(n_bins_);
    taken_bytes_ += drawn_bytes;
  }
  return {columns_.get(), drawn_.get()};
}

void Binwise::finish(Columns& columns, const HashingFunctions& functions, int n_threads, StopToken& stop_token) const {
  const std::size_t n_features = keys_.n_features();
  columns.parts.finish(n_threads, stop_token, [&] {
    return [&, buffer = PairBuffer()](std::size_t part) mutable {
      const std::size_t first = part * kAtOnce;
      buffer.n = 0;
      for (std::size_t feature = first; feature < std::min(first + kAtOnce, n_features); ++feature) {
        const std::uint32_t number = static_cast<std::uint32_t>(feature);
        const std::uint32_t bin = bin_of_column(number >> 1);
        columns.bin[number >> 1] = bin;
        buffer.add(keys_.feature(number), bin, number, 0.0f);
      }
      const PairTable& table = columns.table;
      functions.fill_pairs(buffer.pairs(), keys_.hash_blocks(),
                           {table.inverse_r + first, table.beta + first, table.offset + first, table.r + first});
    };
  });
}

void Binwise::finish(DrawnBins& drawn_bins, int n_threads, StopToken& stop_token) const {
  drawn_bins.parts.finish(n_threads, stop_token, [&] {
    return [&](std::size_t part) {
      for (std::size_t bin = part * kAtOnce; bin < std::min((part + 1) * kAtOnce, n_bins_); ++bin) {
        for (std::uint64_t n = 0; n < kKeptAttempts; ++n) drawn_bins.bins[bin * kKeptAttempts + n] = drawn(bin, n);
      }
    };
  });
}

MakeBatchSampler Binwise::start(const HashingFunctions& functions, const RowSource& rows, int n_threads,
                                StopToken& stop_token) {
  const Kept kept = kept_for(rows.max_entries());
  if (kept.columns != nullptr) finish(*kept.columns, functions, n_threads, stop_token);
  if (kept.drawn != nullptr) finish(*kept.drawn, n_threads, stop_token);
  return [this, &functions, kept, &stop_token] {
    return std::make_unique<BinwiseRowSampler>(functions, *this, kept, stop_token);
  };
}

}  // namespace

std::unique_ptr<Sampler> make_binwise(const SampleKeys& keys, std::size_t table_bytes) {
  return std::make_unique<Binwise>(keys, table_bytes);
}

}  // namespace gcwsnet
