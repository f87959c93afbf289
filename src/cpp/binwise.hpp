// Bin-wise consistent weighted sampling: columns fall into as many bins as there are hashes, and each bin gives one sample.
#pragma once

#include "sampler.hpp"

namespace gcwsnet {

class Binwise : public Sampler {
 public:
  // The bins of the columns and the parameters of the features in them are kept if they take at most `table_bytes`.
  Binwise(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes);

  std::function<RowSampler()> start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                    StopSign& stop_sign) override;

  std::size_t n_bins() const { return n_bins_; }
  const Tables& tables() const { return tables_; }
  std::uint32_t bin_of_column(std::uint32_t column) const { return below_n_bins(bins_(column)); }
  // The bin drawn for an empty one.
  std::uint32_t drawn(std::size_t bin, std::uint64_t attempt) const { return below_n_bins(fills_(kAttempts * bin + attempt)); }
  static constexpr std::uint64_t kAttempts = 64;

  // Once they pay: the bin of each column, and the parameters of each feature for the hash of its bin.
  struct Kept {
    Aligned<std::uint32_t> bin;
    Aligned<float> parameters;
    PairTable table;
  };

 private:
  std::uint32_t below_n_bins(std::uint64_t key) const {
    return static_cast<std::uint32_t>((std::uint64_t{halves(key).high} * n_bins_) >> 32);
  }
  void keep(const InstructionSet& set, int n_threads, StopSign& stop_sign);

  KeyStream bins_, fills_;
  const Tables& tables_;
  std::size_t n_bins_, table_bytes_;
  std::mutex mutex_;  // of what follows
  std::size_t entries_seen_ = 0;
  std::unique_ptr<Kept> kept_;
};

}  // namespace gcwsnet
