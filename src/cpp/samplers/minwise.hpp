// Minwise hashing: a row is the set of its non-zero entries, whatever their sizes.
#pragma once

#include "base/sample_keys.hpp"
#include "base/sampler.hpp"

namespace gcwsnet {

class Minwise : public Sampler {
 public:
  explicit Minwise(const SampleKeys& keys) : keys_(keys) {}

  MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                         StopSign& stop_sign) override;

 private:
  const SampleKeys& keys_;
};

}  // namespace gcwsnet
