// Rejection sampling: points are drawn under the caps of all features until one lies under the row.
#pragma once

#include "base/sample_keys.hpp"
#include "base/sampler.hpp"

namespace gcwsnet {

class Trials;

class Rejection : public Sampler {
 public:
  // Trials that are kept take at most `table_bytes`; others are drawn for each row again.
  Rejection(const SampleKeys& keys, std::size_t table_bytes) : keys_(keys), table_bytes_(table_bytes) {}

  // Logarithms of the caps of all features, and ends of their points: they never fall, and the last one is 2^63.
  // Both are copied. Rows that are being hashed keep the caps they started with.
  void use_caps(const float* log_caps, const std::uint64_t* ends) override;

  MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                         StopSign& stop_sign) override;

 private:
  const SampleKeys& keys_;
  const std::size_t table_bytes_;
  std::shared_ptr<Trials> trials_;  // read and changed under a ForkSafeLock
};

}  // namespace gcwsnet
