#include "binwise.hpp"

#include <algorithm>
#include <limits>

#include "rows.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kAtOnce = 1024;  // pairs of a feature and a hash
constexpr std::size_t kMostKept = std::size_t{1} << 28;  // features: their numbers are places of a gather
constexpr std::uint32_t kNone = 0xffffffffu;

// Some pairs with what is needed of them.
struct PairBuffer {
  std::uint32_t low[kAtOnce], high[kAtOnce], hash[kAtOnce], feature[kAtOnce];
  float L[kAtOnce], a[kAtOnce], t[kAtOnce];
  std::size_t n = 0;

  void add(const Key& key, std::uint32_t hash_number, std::uint32_t feature_number, float log_weight) {
    low[n] = key.low;
    high[n] = key.high;
    hash[n] = hash_number;
    feature[n] = feature_number;
    L[n] = log_weight;
    ++n;
  }
  // The last pack is filled up with what is there: it must be read, and numbers of hashes must be right.
  Pairs pairs() {
    for (std::size_t i = n; i % kHashBlock != 0; ++i) low[i] = high[i] = hash[i] = 0, L[i] = 0.0f;
    return {low, high, hash, n};
  }
};

class RowByBins {
 public:
  RowByBins(const InstructionSet& set, const Binwise& binwise, const Binwise::Kept* kept, StopSign& stop_sign)
      : set_(set), binwise_(binwise), kept_(kept), stop_sign_(stop_sign) {}

  void operator()(const Entries& row, const Samples& samples) {
    bin_.resize(row.n);
    for (std::size_t from = 0; from < row.n; from += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, row.n - from);
      const Entries piece = {row.feature + from, row.L + from, nullptr, n};
      own_pairs(piece, bin_.data() + from);
      for (std::size_t e = 0; e < n; ++e) take(bin_[from + e], piece.feature[e], e, samples);
      stop_sign_.poll();
    }
    std::size_t n_empty = 0;
    for (std::size_t bin = 0; bin < binwise_.n_bins(); ++bin) n_empty += samples.i[bin] == kNoFeature;
    if (n_empty > 0) fill_empty(row, samples);
  }

 private:
  // a and t of entries, each for the hash of its bin.
  void own_pairs(const Entries& piece, std::uint32_t* bin) {
    if (kept_ != nullptr) {
      for (std::size_t e = 0; e < piece.n; ++e) bin[e] = kept_->bin[piece.feature[e] >> 1];
      set_.scan_tabled_pairs(piece, kept_->table, buffer_->a, buffer_->t);
      return;
    }
    buffer_->n = 0;
    for (std::size_t e = 0; e < piece.n; ++e) {
      bin[e] = binwise_.bin_of_column(piece.feature[e] >> 1);
      buffer_->add(binwise_.tables().feature_key(piece.feature[e]), bin[e], piece.feature[e], piece.L[e]);
    }
    set_.scan_pairs(buffer_->pairs(), buffer_->L, binwise_.tables().hash_keys(), buffer_->a, buffer_->t);
  }

  // Pair number `pair` of the buffer may be the sample of a hash. Features ascend: on a tie the lowest stays.
  void take(std::size_t hash, std::uint32_t feature, std::size_t pair, const Samples& samples) {
    const bool better = buffer_->a[pair] < samples.a[hash];
    samples.i[hash] = better ? feature : samples.i[hash];
    samples.t[hash] = better ? buffer_->t[pair] : samples.t[hash];
    samples.a[hash] = better ? buffer_->a[pair] : samples.a[hash];
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
    buffer_->n = 0;
    for (std::size_t bin = binwise_.n_bins(); bin-- > 0;) {
      if (first_[bin] != kNone) {
        behind = bin;
        continue;
      }
      std::size_t donor = behind;
      for (std::uint64_t attempt = 0; attempt < Binwise::kAttempts; ++attempt) {
        const std::uint32_t drawn = binwise_.drawn(bin, attempt);
        if (first_[drawn] == kNone) continue;
        donor = drawn;
        break;
      }
      if (bin % kAtOnce == 0) stop_sign_.poll();
      for (std::uint32_t e = first_[donor]; e != kNone; e = next_[e]) {
        if (buffer_->n == kAtOnce) finish_pairs(samples);
        buffer_->add(binwise_.tables().feature_key(row.feature[e]), static_cast<std::uint32_t>(bin), row.feature[e], row.L[e]);
      }
    }
    finish_pairs(samples);
  }

  void finish_pairs(const Samples& samples) {
    set_.scan_pairs(buffer_->pairs(), buffer_->L, binwise_.tables().hash_keys(), buffer_->a, buffer_->t);
    for (std::size_t pair = 0; pair < buffer_->n; ++pair) take(buffer_->hash[pair], buffer_->feature[pair], pair, samples);
    buffer_->n = 0;
    stop_sign_.poll();
  }

  const InstructionSet& set_;
  const Binwise& binwise_;
  const Binwise::Kept* const kept_;
  StopSign& stop_sign_;
  Room<std::uint32_t> bin_, next_;    // of each entry: its bin, and the next entry in it
  std::vector<std::uint32_t> first_;  // entry of each bin
  std::shared_ptr<PairBuffer> buffer_ = std::make_shared<PairBuffer>();
};

}  // namespace

Binwise::Binwise(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes)
    : bins_(seed, KeyStream::Purpose::kBins),
      fills_(seed, KeyStream::Purpose::kFills),
      tables_(tables),
      n_bins_(n_hashes),
      table_bytes_(table_bytes) {}

void Binwise::keep(const InstructionSet& set, int n_threads, StopSign& stop_sign) {
  const std::size_t n_features = tables_.n_features();
  const std::size_t padded = (n_features + kAtOnce - 1) / kAtOnce * kAtOnce;
  const std::size_t bytes = padded * 4 * sizeof(float) + n_features / 2 * sizeof(std::uint32_t);
  if (n_features > kMostKept || bytes > table_bytes_ || entries_seen_ < n_features) return;
  auto kept = std::make_unique<Kept>();
  kept->bin = aligned<std::uint32_t>(n_features / 2);
  kept->parameters = aligned<float>(4 * padded);
  float* const q = kept->parameters.get();
  kept->table = {q, q + padded, q + 2 * padded, q + 3 * padded};
  for_each_block(padded / kAtOnce, n_threads, stop_sign, [&] {
    return [&, buffer = PairBuffer()](std::size_t chunk) mutable {
      const std::size_t first = chunk * kAtOnce;
      buffer.n = 0;
      for (std::size_t feature = first; feature < std::min(first + kAtOnce, n_features); ++feature) {
        const std::uint32_t number = static_cast<std::uint32_t>(feature);
        const std::uint32_t bin = bin_of_column(number >> 1);
        kept->bin[feature >> 1] = bin;
        buffer.add(tables_.feature_key(number), bin, number, 0.0f);
      }
      set.fill_pairs(buffer.pairs(), tables_.hash_keys(), {q + first, q + padded + first, q + 2 * padded + first, q + 3 * padded + first});
    };
  });
  kept_ = std::move(kept);
}

std::function<RowSampler()> Binwise::start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                           StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_seen_ += n_entries;
  if (!kept_) keep(set, n_threads, stop_sign);
  return [&set, this, kept = kept_.get(), &stop_sign] { return RowSampler(RowByBins(set, *this, kept, stop_sign)); };
}

}  // namespace gcwsnet
