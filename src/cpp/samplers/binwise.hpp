// Bin-wise consistent weighted sampling: columns fall into as many bins as there are hashes, and each bin gives one sample.
#pragma once

#include "base/sampler.hpp"

namespace gcwsnet {

class Binwise : public Sampler {
 public:
  // What is kept between rows takes at most `table_bytes`.
  Binwise(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes);

  std::function<RowSampler()> start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                    StopSign& stop_sign) override;

  std::size_t n_bins() const { return n_bins_; }
  const Tables& tables() const { return tables_; }
  std::uint32_t bin_of_column(std::uint32_t column) const { return below_n_bins(bins_(column)); }

  static constexpr std::uint64_t kAttempts = 64, kKeptAttempts = 16;
  // The bin drawn for an empty one.
  std::uint32_t drawn(std::size_t bin, std::uint64_t attempt) const {
    return below_n_bins(fills_(kAttempts * bin + attempt));
  }

  // The bin of each column, and the parameters of each feature for the hash of its bin.
  struct Columns {
    Aligned<std::uint32_t> bin;
    Aligned<float> parameters;
    PairTable table;  // the same
  };
  // What there is; nullptr before it pays, and where there is no memory for it.
  struct Kept {
    const Columns* columns;
    const std::uint32_t* drawn;  // the first bins drawn for each one, [bin][kKeptAttempts]
  };

 private:
  std::uint32_t below_n_bins(std::uint64_t key) const {
    return static_cast<std::uint32_t>((std::uint64_t{halves(key).high} * n_bins_) >> 32);
  }
  void keep_columns(const InstructionSet& set, int n_threads, StopSign& stop_sign);
  void keep_drawn(int n_threads, StopSign& stop_sign);

  KeyStream bins_, fills_;
  const Tables& tables_;
  const std::size_t n_bins_, table_bytes_;
  std::mutex mutex_;  // of what follows
  std::size_t entries_seen_ = 0, taken_bytes_ = 0;
  std::unique_ptr<Columns> columns_;
  Aligned<std::uint32_t> drawn_;
};

}  // namespace gcwsnet
