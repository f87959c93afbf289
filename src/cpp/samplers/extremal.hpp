// Extremal sampling: the lowest of random points that stand under the weights of a row.
#pragma once

#include "base/sample_keys.hpp"
#include "base/sampler.hpp"

namespace gcwsnet {

class Extremal : public Sampler {
 public:
  explicit Extremal(const SampleKeys& keys) : keys_(keys) {}

  MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                         StopSign& stop_sign) override;

 private:
  const SampleKeys& keys_;
};

}  // namespace gcwsnet
