// GCWS, the paper's Algorithm 1: parameters are a pure function of (seed, feature, hash).
#pragma once

#include "base/sampler.hpp"
#include "gcws/tables.hpp"

namespace gcwsnet {

class GcwsSampler : public Sampler {
 public:
  // How rows are scanned. All ways give the same samples; kAuto takes the one that looks quickest, the others are there
  // to be compared.
  enum class Scan { kAuto, kFull, kSorted, kHeavy, kRanks };

  // Tables take at most `table_bytes`. Without them parameters are generated for each entry again.
  GcwsSampler(const SampleKeys& keys, std::size_t table_bytes, Scan scan)
      : keys_(keys), scan_(scan), tables_(keys, table_bytes, scan != Scan::kAuto) {}

  MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                         StopSign& stop_sign) override;

 private:
  const SampleKeys& keys_;
  Scan scan_;
  Tables tables_;
};

}  // namespace gcwsnet
