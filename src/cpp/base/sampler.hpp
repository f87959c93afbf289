// A way to the samples of rows other than GCWS. docs/samplers-specification.md says what they are.
#pragma once

#include <functional>

#include "gcws/tables.hpp"

namespace gcwsnet {

// Writes the samples of one row, which has entries, for all hashes; they are those of a row without entries before.
using RowSampler = std::function<void(const Entries& row, const Samples& samples)>;

class Sampler {
 public:
  virtual ~Sampler() = default;

  // For rows of at most n_entries entries in all: makes the sampler of one thread, with that thread's buffers.
  virtual std::function<RowSampler()> start(const InstructionSet& set, std::size_t n_entries, int n_threads,
                                            StopSign& stop_sign) = 0;
};

}  // namespace gcwsnet
