// Extremal sampling: the lowest of random points that stand under the weights of a row.
#pragma once

#include "base/sampler.hpp"

namespace gcwsnet {

class Extremal : public Sampler {
 public:
  Extremal(std::uint64_t seed, const Tables& tables);

  std::function<RowSampler()> start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                    StopSign& stop_sign) override;

 private:
  KeyStream points_;
  const Tables& tables_;
};

}  // namespace gcwsnet
