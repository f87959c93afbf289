#include "rejection.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "rows.hpp"

namespace gcwsnet {

namespace {

constexpr std::uint32_t kMostTrials = 1024, kChunks = kMostTrials / kTrialChunk;
constexpr float kLeastLogHeight = -31.0f * 0.6931471805599453f;  // of u = 2^-31
constexpr std::size_t kMostByFeature = std::size_t{1} << 20;     // else features are searched for in the row
constexpr std::size_t kPiece = std::size_t{1} << 16;             // entries between two looks at the stop sign
constexpr std::uint32_t kChunksBetweenPolls = 16;
constexpr std::size_t kBlocksBetweenPolls = 64;

}  // namespace

// The caps and the trials under them. The first trials of all hashes are kept once they have been drawn.
class Trials {
 public:
  Trials(std::uint64_t seed, std::size_t n_features, std::size_t n_blocks, std::size_t most_bytes, const float* log_caps,
         const std::uint64_t* ends)
      : keys_(seed, KeyStream::Purpose::kTrials),
        n_blocks_(n_blocks),
        n_kept_(static_cast<std::uint32_t>(
            std::min<std::size_t>(kChunks, most_bytes / (sizeof(TrialChunk) + sizeof drawn_[0]) / n_blocks))),
        log_caps_(log_caps, log_caps + n_features),
        ends_(ends, ends + n_features),
        chunks_(aligned<TrialChunk>(n_kept_ * n_blocks)),
        drawn_(n_kept_ * n_blocks) {}

  std::size_t n_features() const { return log_caps_.size(); }
  const float* log_caps() const { return log_caps_.data(); }

  // The trials from number chunk * kTrialChunk on; `room` is for those that are not kept.
  const TrialChunk& chunk(const InstructionSet& set, std::uint32_t chunk, std::size_t block, TrialChunk& room) {
    if (chunk >= n_kept_) {
      draw(set, chunk, block, room);
      return room;
    }
    const std::size_t at = chunk * n_blocks_ + block;  // the first trials of all hashes stand together
    if (!drawn_[at].load(std::memory_order_acquire)) {
      const std::lock_guard<std::mutex> lock(mutexes_[block % mutexes_.size()]);
      if (!drawn_[at].load(std::memory_order_relaxed)) {
        draw(set, chunk, block, chunks_[at]);
        drawn_[at].store(true, std::memory_order_release);
      }
    }
    return chunks_[at];
  }

 private:
  void draw(const InstructionSet& set, std::uint32_t chunk, std::size_t block, TrialChunk& to) const {
    std::uint32_t height[kTrialChunk * kHashBlock];
    for (std::uint32_t n = 0; n < kTrialChunk * kHashBlock; ++n) {
      const std::uint64_t hash = block * kHashBlock + n % kHashBlock;
      const std::uint64_t number = kMostTrials * hash + chunk * kTrialChunk + n / kHashBlock;
      const std::uint64_t point = keys_(2 * number) >> 1;
      to.feature[n] = static_cast<std::uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), point) - ends_.begin());
      height[n] = halves(keys_(2 * number + 1)).high;
    }
    set.log_heights(height, kTrialChunk * kHashBlock, to.log_height);
  }

  const KeyStream keys_;
  const std::size_t n_blocks_;
  const std::uint32_t n_kept_;  // chunks of each block
  const std::vector<float> log_caps_;
  const std::vector<std::uint64_t> ends_;
  Aligned<TrialChunk> chunks_;               // [chunk][block]
  std::vector<std::atomic<bool>> drawn_;     // of each of them
  std::array<std::mutex, 64> mutexes_;       // of chunks that are being drawn
};

namespace {

class RowByRejection {
 public:
  RowByRejection(const InstructionSet& set, const Tables& tables, std::size_t n_hashes, std::shared_ptr<Trials> trials,
                 StopSign& stop_sign)
      : set_(set), tables_(tables), n_hashes_(n_hashes), trials_(std::move(trials)), stop_sign_(stop_sign) {
    std::iota(in_order_.begin(), in_order_.end(), 0u);
  }

  void operator()(const Entries& row, const Samples& samples) {
    const bool hopeless = !take_shares(row);
    key_.clear();
    for (std::size_t block = 0; block < tables_.n_blocks(); ++block) {
      if (block % kBlocksBetweenPolls == kBlocksBetweenPolls - 1) stop_sign_.poll();
      std::int32_t waiting[kHashBlock];
      for (std::size_t lane = 0; lane < kHashBlock; ++lane) {
        waiting[lane] = block * kHashBlock + lane < n_hashes_ ? -1 : 0;
      }
      const std::size_t at = block * kHashBlock;
      const Samples here = {samples.a + at, samples.t + at, samples.i + at};
      bool left = true;
      for (std::uint32_t chunk = 0; left && !hopeless && chunk < kChunks; ++chunk) {
        if (chunk % kChunksBetweenPolls == kChunksBetweenPolls - 1) stop_sign_.poll();
        left = try_chunk(row, chunk, block, waiting, here);
      }
      if (left) fall_back(row, block, waiting, here);
    }
    if (by_feature()) {
      for (std::size_t e = 0; e < row.n; ++e) share_[row.feature[e]] = -std::numeric_limits<float>::infinity();
    }
  }

 private:
  bool by_feature() const { return trials_->n_features() <= kMostByFeature; }

  // ln of the row's share of each cap: by feature if there are not too many, else by entry. Whether a trial can be under one.
  bool take_shares(const Entries& row) {
    if (by_feature()) {
      share_.resize(trials_->n_features(), -std::numeric_limits<float>::infinity());
    } else {
      share_.resize(row.n);
    }
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t e = 0; e < row.n; ++e) {
      const float share = std::min(row.L[e] - trials_->log_caps()[row.feature[e]], 0.0f);
      share_[by_feature() ? row.feature[e] : e] = share;
      largest = std::max(largest, share);
    }
    return largest >= kLeastLogHeight;
  }

  bool try_chunk(const Entries& row, std::uint32_t chunk, std::size_t block, std::int32_t* waiting, const Samples& here) {
    const TrialChunk& trials = trials_->chunk(set_, chunk, block, drawn_);
    const std::uint32_t first = chunk * kTrialChunk;
    if (by_feature()) return set_.accept_trials(trials, first, share_.data(), trials.feature, waiting, here);
    std::array<float, kTrialChunk * kHashBlock> share;
    for (std::size_t n = 0; n < share.size(); ++n) {
      const std::uint32_t* end = row.feature + row.n;
      const std::uint32_t* found = std::lower_bound(row.feature, end, trials.feature[n]);
      const bool there = found != end && *found == trials.feature[n];
      share[n] = there ? share_[static_cast<std::size_t>(found - row.feature)] : -std::numeric_limits<float>::infinity();
    }
    return set_.accept_trials(trials, first, share.data(), in_order_.data(), waiting, here);
  }

  // The GCWS samples of the hashes that no trial gave a sample.
  void fall_back(const Entries& row, std::size_t block, const std::int32_t* waiting, const Samples& here) {
    if (!pruned_) pruned_ = std::make_shared<PrunedWorkspace>();
    if (key_.empty()) {
      key_.resize(row.n);
      for (std::size_t e = 0; e < row.n; ++e) key_[e] = tables_.feature_key(row.feature[e]);
    }
    float a[kHashBlock], t[kHashBlock];
    std::uint32_t i[kHashBlock];
    const Samples gcws = {a, t, i};
    std::fill_n(a, kHashBlock, std::numeric_limits<float>::infinity());
    for (std::size_t from = 0; from < row.n; from += kPiece) {
      const Entries piece = {row.feature + from, row.L + from, key_.data() + from, std::min(kPiece, row.n - from)};
      set_.scan_pruned_generated(piece, tables_.hash_keys() + block, 1, *pruned_, gcws);
      stop_sign_.poll();
    }
    set_.mark_fallen_back(gcws, waiting, here);
  }

  const InstructionSet& set_;
  const Tables& tables_;
  const std::size_t n_hashes_;
  const std::shared_ptr<Trials> trials_;
  StopSign& stop_sign_;
  std::vector<float> share_;
  std::array<std::uint32_t, kTrialChunk * kHashBlock> in_order_;
  TrialChunk drawn_;
  Room<Key> key_;
  std::shared_ptr<PrunedWorkspace> pruned_;
};

}  // namespace

Rejection::Rejection(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes)
    : seed_(seed), tables_(tables), n_hashes_(n_hashes), table_bytes_(table_bytes) {}

void Rejection::use_caps(const float* log_caps, const std::uint64_t* ends) {
  auto trials = std::make_shared<Trials>(seed_, tables_.n_features(), tables_.n_blocks(), table_bytes_, log_caps, ends);
  const std::lock_guard<std::mutex> lock(mutex_);
  trials_ = std::move(trials);
}

std::function<RowSampler()> Rejection::start(const InstructionSet& set, std::size_t, int, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!trials_) throw std::runtime_error("use_caps must be called before rows are hashed by rejection");
  return [&set, this, trials = trials_, &stop_sign] {
    return RowSampler(RowByRejection(set, tables_, n_hashes_, trials, stop_sign));
  };
}

}  // namespace gcwsnet
