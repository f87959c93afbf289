// Rejection sampling: points are drawn under the caps of all features until one lies under the row.
#pragma once

#include "base/sampler.hpp"

namespace gcwsnet {

class Trials;

class Rejection : public Sampler {
 public:
  // Trials that are kept take at most `table_bytes`; others are drawn for each row again.
  Rejection(std::uint64_t seed, const Tables& tables, std::size_t n_hashes, std::size_t table_bytes);

  // Logarithms of the caps of all features, and ends of their points: they never fall, and the last one is 2^63.
  // Both are copied. Rows that are being hashed keep the caps they started with.
  void use_caps(const float* log_caps, const std::uint64_t* ends);

  std::function<RowSampler()> start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                    StopSign& stop_sign) override;

 private:
  std::uint64_t seed_;
  const Tables& tables_;
  std::size_t n_hashes_, table_bytes_;
  std::mutex mutex_;  // of what follows
  std::shared_ptr<Trials> trials_;
};

}  // namespace gcwsnet
