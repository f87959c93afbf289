#include "samplers/rejection.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <stdexcept>

#include "base/rows.hpp"

namespace gcwsnet {

namespace {

constexpr std::uint32_t kMostTrials = 1024;
constexpr std::uint32_t kDrawn = 16;  // trials of a hash drawn together
constexpr std::uint32_t kLook = 4;    // and looked at together, without a branch that nobody could predict
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kLeastLogHeight = -31.0f * 0.6931471805599453f;  // of u = 2^-31
constexpr std::size_t kMostByFeature = std::size_t{1} << 20;     // else features are searched for in the row
constexpr std::size_t kPiece = std::size_t{1} << 16;             // entries between two looks at the stop sign
constexpr std::uint32_t kChunksBetweenPolls = 8;
constexpr std::size_t kHashesBetweenPolls = 1024;

// A point under the caps: the feature, and the logarithm of the height as a share of its cap.
struct Trial {
  std::uint32_t feature;
  float log_height;
};
struct TrialChunk {
  Trial trial[kDrawn];
};

}  // namespace

// The caps and the trials under them. The first trials of all hashes are kept once they have been drawn.
class Trials {
 public:
  static constexpr std::uint32_t kChunks = kMostTrials / kDrawn;

  Trials(std::uint64_t seed, std::size_t n_features, std::size_t n_hashes, std::size_t most_bytes, const float* log_caps,
         const std::uint64_t* ends)
      : keys_(seed, KeyStream::Purpose::kTrials),
        n_hashes_(n_hashes),
        n_kept_(std::min<std::size_t>(kChunks, most_bytes / (sizeof(TrialChunk) + sizeof drawn_[0]) / n_hashes)),
        log_caps_(log_caps, log_caps + n_features),
        ends_(ends, ends + n_features),
        chunks_(aligned<TrialChunk>(n_kept_ * n_hashes)),
        drawn_(n_kept_ * n_hashes) {}

  std::size_t n_hashes() const { return n_hashes_; }
  std::size_t n_features() const { return log_caps_.size(); }
  float log_cap(std::uint32_t feature) const { return log_caps_[feature]; }

  // The trials from number chunk * kDrawn on; `room` is for those that are not kept.
  const TrialChunk& chunk(const InstructionSet& set, std::uint32_t chunk, std::size_t hash, TrialChunk& room) {
    if (chunk >= n_kept_) {
      draw(set, chunk, hash, room);
      return room;
    }
    const std::size_t at = chunk * n_hashes_ + hash;  // the first trials of all hashes stand together
    if (!drawn_[at].load(std::memory_order_acquire)) {
      const std::lock_guard<std::mutex> lock(mutexes_[hash % mutexes_.size()]);
      if (!drawn_[at].load(std::memory_order_relaxed)) {
        draw(set, chunk, hash, chunks_[at]);
        drawn_[at].store(true, std::memory_order_release);
      }
    }
    return chunks_[at];
  }

 private:
  void draw(const InstructionSet& set, std::uint32_t chunk, std::size_t hash, TrialChunk& to) const {
    std::uint32_t height[kDrawn];
    float log_height[kDrawn];
    static_assert(kDrawn == kHashBlock);  // the width of log_heights
    for (std::uint32_t n = 0; n < kDrawn; ++n) {
      const std::uint64_t number = std::uint64_t{kMostTrials} * hash + chunk * kDrawn + n;
      const std::uint64_t point = keys_(2 * number) >> 1;
      const auto feature = std::upper_bound(ends_.begin(), ends_.end(), point) - ends_.begin();
      to.trial[n].feature = static_cast<std::uint32_t>(feature);
      height[n] = halves(keys_(2 * number + 1)).high;
    }
    set.log_heights(height, log_height);
    for (std::uint32_t n = 0; n < kDrawn; ++n) to.trial[n].log_height = log_height[n];
  }

  const KeyStream keys_;
  const std::size_t n_hashes_, n_kept_;  // chunks of each hash
  const std::vector<float> log_caps_;
  const std::vector<std::uint64_t> ends_;
  Aligned<TrialChunk> chunks_;            // [chunk][hash]
  std::vector<std::atomic<bool>> drawn_;  // each of them
  std::array<std::mutex, 64> mutexes_;    // of those that are being drawn
};

namespace {

class RowByRejection {
 public:
  RowByRejection(const InstructionSet& set, const Tables& tables, std::shared_ptr<Trials> trials, StopSign& stop_sign)
      : set_(set), tables_(tables), trials_(std::move(trials)), stop_sign_(stop_sign) {}

  void operator()(const Entries& row, const Samples& samples) {
    key_.clear();
    if (trials_->n_features() > kMostByFeature) {
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

 private:
  // ln of the row's share of each cap. False if no trial can be under one.
  template <class Place>
  bool take_shares(const Entries& row, Place place) {
    float largest = kNever;
    for (std::size_t e = 0; e < row.n; ++e) {
      const float share = std::min(row.L[e] - trials_->log_cap(row.feature[e]), 0.0f);
      share_[place(e, row.feature[e])] = share;
      largest = std::max(largest, share);
    }
    return largest >= kLeastLogHeight;
  }

  template <class ShareOf>
  void sample(const Entries& row, bool any, const Samples& samples, ShareOf share_of) {
    const std::size_t n_hashes = trials_->n_hashes();
    for (std::size_t first = 0; first < n_hashes; first += kHashBlock) {
      if (first % kHashesBetweenPolls == 0) stop_sign_.poll();
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
      if (number % kChunksBetweenPolls == kChunksBetweenPolls - 1) stop_sign_.poll();
      const TrialChunk& chunk = trials_->chunk(set_, number, hash, room_);
      for (std::uint32_t from = 0; from < kDrawn; from += kLook) {
        std::uint32_t accepted = 0;
        for (std::uint32_t n = 0; n < kLook; ++n) {
          const Trial trial = chunk.trial[from + n];
          accepted |= static_cast<std::uint32_t>(share_of(trial.feature) >= trial.log_height) << n;
        }
        if (accepted == 0) continue;
        const std::uint32_t first = from + static_cast<std::uint32_t>(__builtin_ctz(accepted));
        samples.i[hash] = chunk.trial[first].feature;
        samples.t[hash] = static_cast<float>(number * kDrawn + first);
        return true;
      }
    }
    return false;
  }

  // The GCWS samples, marked, of the hashes that wait; `first` is the first of their block.
  void fall_back(const Entries& row, std::size_t first, std::uint32_t waiting, const Samples& samples) {
    if (!pruned_) pruned_ = std::make_shared<PrunedWorkspace>();
    if (key_.empty()) {
      key_.resize(row.n);
      for (std::size_t e = 0; e < row.n; ++e) key_[e] = tables_.feature_key(row.feature[e]);
    }
    float a[kHashBlock], t[kHashBlock];
    std::uint32_t i[kHashBlock];
    std::fill_n(a, kHashBlock, std::numeric_limits<float>::infinity());
    std::fill_n(t, kHashBlock, 0.0f);
    std::fill_n(i, kHashBlock, kNoFeature);
    for (std::size_t from = 0; from < row.n; from += kPiece) {
      stop_sign_.poll();
      const Entries piece = {row.feature + from, row.L + from, key_.data() + from, std::min(kPiece, row.n - from)};
      set_.scan_pruned_generated(piece, tables_.hash_keys() + first / kHashBlock, 1, *pruned_, {a, t, i});
    }
    set_.mark_fallen_back(t);
    for (; waiting != 0; waiting &= waiting - 1) {
      const int lane = __builtin_ctz(waiting);
      samples.t[first + lane] = t[lane];
      samples.i[first + lane] = i[lane];
    }
  }

  const InstructionSet& set_;
  const Tables& tables_;
  const std::shared_ptr<Trials> trials_;
  StopSign& stop_sign_;
  std::vector<float> share_;  // by feature if there are not too many, else by entry
  TrialChunk room_ = {};
  Room<Key> key_;  // of the entries, where a hash falls back
  std::shared_ptr<PrunedWorkspace> pruned_;
};

}  // namespace

Rejection::Rejection(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes)
    : seed_(seed), tables_(tables), n_hashes_(n_hashes), table_bytes_(table_bytes) {}

void Rejection::use_caps(const float* log_caps, const std::uint64_t* ends) {
  auto trials = std::make_shared<Trials>(seed_, tables_.n_features(), n_hashes_, table_bytes_, log_caps, ends);
  const std::lock_guard<std::mutex> lock(mutex_);
  trials_ = std::move(trials);
}

std::function<RowSampler()> Rejection::start(const InstructionSet& set, std::size_t, int, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!trials_) throw std::runtime_error("use_caps must be called before rows are hashed by rejection");
  return [&set, &tables = tables_, trials = trials_, &stop_sign] {
    return RowSampler(RowByRejection(set, tables, trials, stop_sign));
  };
}

}  // namespace gcwsnet
