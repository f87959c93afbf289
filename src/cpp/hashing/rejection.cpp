#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>

#include "base/aligned.hpp"
#include "base/fork.hpp"
#include "hashing/sampler.hpp"

namespace gcwsnet {

namespace {

constexpr std::uint32_t kMaxTrials = 1024;
constexpr std::uint32_t kPerChunk = 16;  // trials of a hash drawn together
constexpr std::uint32_t kLook = 4;       // and looked at together, without a branch that nobody could predict
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kMinLogHeight = -31.0f * 0.6931471805599453f;  // of u = 2^-31
constexpr std::size_t kMaxByFeature = std::size_t{1} << 20;    // else features are searched for in the row
constexpr std::size_t kPiece = std::size_t{1} << 16;           // entries between two looks at the stop token
constexpr std::uint32_t kChunksBetweenPolls = 8;
constexpr std::size_t kHashesBetweenPolls = 1024;

// A point under the caps: the feature, and the logarithm of the height as a share of its cap.
struct Trial {
  std::uint32_t feature;
  float log_height;
};
struct TrialChunk {
  Trial trial[kPerChunk];
};

// The caps and the trials under them. The first trials of all hashes are kept once they have been drawn.
class Trials {
 public:
  static constexpr std::uint32_t kChunks = kMaxTrials / kPerChunk;

  Trials(const SampleKeys& keys, std::size_t max_bytes, const float* log_caps, const std::uint64_t* ends)
      : keys_(keys.seed(), KeyStream::Purpose::kTrials),
        n_hashes_(keys.n_hashes()),
        n_kept_(std::min<std::size_t>(kChunks, max_bytes / (sizeof(TrialChunk) + sizeof state_[0]) / n_hashes_)),
        log_caps_(log_caps, log_caps + keys.n_features()),
        ends_(ends, ends + keys.n_features()),
        chunks_(aligned<TrialChunk>(n_kept_ * n_hashes_)),
        state_(n_kept_ * n_hashes_) {}

  std::size_t n_hashes() const { return n_hashes_; }
  std::size_t n_features() const { return log_caps_.size(); }
  float log_cap(std::uint32_t feature) const { return log_caps_[feature]; }

  // The trials from number chunk * kPerChunk on; `buffer` is for those that are not kept. No thread waits for another:
  // a chunk that another one is drawing, or was when the process forked, is drawn into the buffer.
  const TrialChunk& chunk(const HashingFunctions& functions, std::uint32_t chunk, std::size_t hash,
                          TrialChunk& buffer) {
    if (chunk < n_kept_) {
      const std::size_t at = chunk * n_hashes_ + hash;  // the first trials of all hashes stand together
      unsigned char state = state_[at].load(std::memory_order_acquire);
      if (state == kDrawn) return chunks_[at];
      if (state == kNew && state_[at].compare_exchange_strong(state, kClaimed)) {
        draw(functions, chunk, hash, chunks_[at]);
        state_[at].store(kDrawn, std::memory_order_release);
        return chunks_[at];
      }
    }
    draw(functions, chunk, hash, buffer);
    return buffer;
  }

 private:
  enum State : unsigned char { kNew, kClaimed, kDrawn };

  void draw(const HashingFunctions& functions, std::uint32_t chunk, std::size_t hash, TrialChunk& to) const {
    std::uint32_t height[kPerChunk];
    float log_height[kPerChunk];
    static_assert(kPerChunk == kHashBlock);  // the width of log_heights
    for (std::uint32_t n = 0; n < kPerChunk; ++n) {
      const std::uint64_t number = std::uint64_t{kMaxTrials} * hash + chunk * kPerChunk + n;
      const std::uint64_t point = keys_(2 * number) >> 1;
      const auto feature = std::upper_bound(ends_.begin(), ends_.end(), point) - ends_.begin();
      to.trial[n].feature = static_cast<std::uint32_t>(feature);
      height[n] = halves(keys_(2 * number + 1)).high;
    }
    functions.log_heights(height, log_height);
    for (std::uint32_t n = 0; n < kPerChunk; ++n) to.trial[n].log_height = log_height[n];
  }

  const KeyStream keys_;
  const std::size_t n_hashes_, n_kept_;  // chunks of each hash
  const std::vector<float> log_caps_;
  const std::vector<std::uint64_t> ends_;
  Aligned<TrialChunk> chunks_;                     // [chunk][hash]
  std::vector<std::atomic<unsigned char>> state_;  // of each of them
};

class RejectionRowSampler : public RowSampler {
 public:
  RejectionRowSampler(const HashingFunctions& functions, const SampleKeys& keys, std::shared_ptr<Trials> trials,
                      StopToken& stop_token)
      : RowSampler(stop_token), functions_(functions), keys_(keys), trials_(std::move(trials)) {}

 private:
  void sample_row(const Entries& row, const Samples& samples) override {
    key_.clear();
    if (trials_->n_features() > kMaxByFeature) {
      share_.resize(row.n);
      const bool any = take_shares(row, [](std::size_t e, std::uint32_t) { return e; });
      sample(row, any, samples, [&](std::uint32_t feature) {
        const std::uint32_t* end = row.feature + row.n;
        const std::uint32_t* found = std::lower_bound(row.feature, end, feature);
        return found != end && *found == feature ? share_[static_cast<std::size_t>(found - row.feature)] : kNever;
      });
      return;
    }
    share_.resize(trials_->n_features(), kNever);
    const bool any = take_shares(row, [](std::size_t, std::uint32_t feature) { return feature; });
    const float* const share = share_.data();
    sample(row, any, samples, [share](std::uint32_t feature) { return share[feature]; });
    for (std::size_t e = 0; e < row.n; ++e) share_[row.feature[e]] = kNever;
  }

  // ln of the row's share of each cap. False if no trial can be under one.
  template <class Place>
  bool take_shares(const Entries& row, Place place) {
    float largest = kNever;
    for (std::size_t e = 0; e < row.n; ++e) {
      const float share = std::min(row.L[e] - trials_->log_cap(row.feature[e]), 0.0f);
      share_[place(e, row.feature[e])] = share;
      largest = std::max(largest, share);
    }
    return largest >= kMinLogHeight;
  }

  template <class ShareOf>
  void sample(const Entries& row, bool any, const Samples& samples, ShareOf share_of) {
    const std::size_t n_hashes = trials_->n_hashes();
    for (std::size_t first = 0; first < n_hashes; first += kHashBlock) {
      if (first % kHashesBetweenPolls == 0) stop_token_.poll();
      std::uint32_t waiting = 0;  // a bit for each hash of the block
      for (std::size_t hash = first; hash < std::min(first + kHashBlock, n_hashes); ++hash) {
        if (!any || !accept(hash, samples, share_of)) waiting |= 1u << (hash - first);
      }
      if (waiting != 0) fall_back(row, first, waiting, samples);
    }
  }

  // Whether a trial gives the sample.
  template <class ShareOf>
  bool accept(std::size_t hash, const Samples& samples, ShareOf share_of) {
    for (std::uint32_t number = 0; number < Trials::kChunks; ++number) {
      if (number % kChunksBetweenPolls == kChunksBetweenPolls - 1) stop_token_.poll();
      const TrialChunk& chunk = trials_->chunk(functions_, number, hash, trial_buffer_);
      for (std::uint32_t from = 0; from < kPerChunk; from += kLook) {
        std::uint32_t accepted = 0;
        for (std::uint32_t n = 0; n < kLook; ++n) {
          const Trial trial = chunk.trial[from + n];
          accepted |= static_cast<std::uint32_t>(share_of(trial.feature) >= trial.log_height) << n;
        }
        if (accepted == 0) continue;
        const std::uint32_t first = from + static_cast<std::uint32_t>(__builtin_ctz(accepted));
        samples.i[hash] = chunk.trial[first].feature;
        samples.t[hash] = static_cast<float>(number * kPerChunk + first);
        return true;
      }
    }
    return false;
  }

  // The GCWS samples, marked, of the hashes that wait; `first` is the first of their block.
  void fall_back(const Entries& row, std::size_t first, std::uint32_t waiting, const Samples& samples) {
    if (!pruned_) pruned_ = std::make_unique<PrunedWorkspace>();
    if (key_.empty()) {
      key_.resize(row.n);
      for (std::size_t e = 0; e < row.n; ++e) key_[e] = keys_.feature(row.feature[e]);
    }
    float a[kHashBlock], t[kHashBlock];
    std::uint32_t i[kHashBlock];
    std::fill_n(a, kHashBlock, std::numeric_limits<float>::infinity());
    std::fill_n(t, kHashBlock, 0.0f);
    std::fill_n(i, kHashBlock, kNoFeature);
    for (std::size_t from = 0; from < row.n; from += kPiece) {
      stop_token_.poll();
      const Entries piece = {row.feature + from, row.L + from, key_.data() + from, std::min(kPiece, row.n - from)};
      functions_.scan_pruned_generated(piece, keys_.hash_blocks() + first / kHashBlock, 1, *pruned_, {a, t, i});
    }
    functions_.mark_fallbacks(t);
    for (; waiting != 0; waiting &= waiting - 1) {
      const int lane = __builtin_ctz(waiting);
      samples.t[first + lane] = t[lane];
      samples.i[first + lane] = i[lane];
    }
  }

  const HashingFunctions& functions_;
  const SampleKeys& keys_;
  const std::shared_ptr<Trials> trials_;
  std::vector<float> share_;  // by feature if there are not too many, else by entry
  TrialChunk trial_buffer_ = {};
  UninitializedVector<Key> key_;  // of the entries, where a hash falls back
  std::unique_ptr<PrunedWorkspace> pruned_;
};

class Rejection : public Sampler {
 public:
  // Trials that are not kept are drawn for each row again.
  Rejection(const SampleKeys& keys, std::size_t table_bytes) : keys_(keys), table_bytes_(table_bytes) {}

  void use_caps(const float* log_caps, const std::uint64_t* ends) override {
    auto trials = std::make_shared<Trials>(keys_, table_bytes_, log_caps, ends);
    const ForkSafeLock lock;
    trials_.swap(trials);
  }

  MakeBatchSampler start(const HashingFunctions& functions, const RowSource&, int, StopToken& stop_token) override {
    std::shared_ptr<Trials> trials;
    {
      const ForkSafeLock lock;
      trials = trials_;
    }
    if (!trials) throw std::runtime_error("use_caps must be called before rows are hashed by rejection");
    return [this, &functions, trials, &stop_token] {
      return std::make_unique<RejectionRowSampler>(functions, keys_, trials, stop_token);
    };
  }

 private:
  const SampleKeys& keys_;
  const std::size_t table_bytes_;
  std::shared_ptr<Trials> trials_;  // read and changed under a ForkSafeLock
};

}  // namespace

std::unique_ptr<Sampler> make_rejection(const SampleKeys& keys, std::size_t table_bytes) {
  return std::make_unique<Rejection>(keys, table_bytes);
}

}  // namespace gcwsnet
