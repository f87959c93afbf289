// Bin-wise consistent weighted sampling: columns fall into as many bins as there are hashes, and each bin gives one sample.
#pragma once

#include "base/aligned.hpp"
#include "base/sample_keys.hpp"
#include "base/sampler.hpp"
#include "base/shared_build.hpp"

namespace gcwsnet {

class Binwise : public Sampler {
 public:
  // What is kept between rows takes at most `table_bytes`.
  Binwise(const SampleKeys& keys, std::size_t table_bytes);

  MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                         StopSign& stop_sign) override;

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
  void finish(Columns& columns, const InstructionSet& set, int n_threads, StopSign& stop_sign) const;
  void finish(DrawnBins& drawn_bins, int n_threads, StopSign& stop_sign) const;

  const SampleKeys& keys_;
  KeyStream bins_, fills_;
  const std::size_t n_bins_, table_bytes_;
  // The rest is read and changed under a ForkSafeLock. What is kept is never replaced, so its content needs none.
  std::size_t entries_seen_ = 0, taken_bytes_ = 0;
  std::unique_ptr<Columns> columns_;
  std::unique_ptr<DrawnBins> drawn_;
};

}  // namespace gcwsnet
