// What the hasher asks of a sampler. docs/hash-specification.md and docs/samplers-specification.md say what samples are.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/instruction_set.hpp"
#include "base/parallel.hpp"
#include "base/rows.hpp"

namespace gcwsnet {

// The matrix whose rows will be hashed.
struct MatrixSummary {
  std::size_t n_rows;
  std::size_t most_entries;               // of all rows together
  std::function<ZeroOne()> find_zero_one;  // reads the matrix, so it takes time
};

// Some rows of the matrix.
struct RowBatch {
  EntryBuffer entries;                     // of all rows, row r from start[r] to start[r + 1]
  std::vector<std::size_t> start = {0};
  std::vector<RowSummary> summary;         // of each row

  void clear() {
    entries.clear();
    start.assign(1, 0);
    summary.clear();
  }
  std::size_t n_rows() const { return start.size() - 1; }
  std::size_t n_entries(std::size_t r) const { return start[r + 1] - start[r]; }
  Entries row(std::size_t r) const {
    return {entries.feature.data() + start[r], entries.L.data() + start[r], nullptr, n_entries(r)};
  }
};

// The samples of some rows, [row][hash], with a whole number of blocks of hashes and of groups of rows.
class SampleBuffer {
 public:
  explicit SampleBuffer(std::size_t padded_hashes) : padded_hashes_(padded_hashes) {}

  // What was there before is lost.
  void resize(std::size_t n_rows) {
    const std::size_t n = (n_rows + kMostRowGroup - 1) / kMostRowGroup * kMostRowGroup * padded_hashes_;
    a_.resize(n);
    t_.resize(n);
    i_.resize(n);
  }
  std::size_t padded_hashes() const { return padded_hashes_; }
  Samples at(std::size_t row, std::size_t block = 0) {
    const std::size_t place = row * padded_hashes_ + block * kHashBlock;
    return {a_.data() + place, t_.data() + place, i_.data() + place};
  }
  // The samples of a row become those of a row without entries.
  void clear(std::size_t row) { clear_samples(at(row), padded_hashes_); }

  static void clear_samples(const Samples& samples, std::size_t n) {
    std::fill_n(samples.a, n, std::numeric_limits<float>::infinity());
    std::fill_n(samples.t, n, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(samples.i, n, kNoFeature);
  }

 private:
  std::size_t padded_hashes_;
  UninitializedVector<float> a_, t_;
  UninitializedVector<std::uint32_t> i_;
};

// Draws the samples of rows on one thread.
class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  // Whether rows of a dense matrix come with an entry for each column, L = -infinity for a zero.
  virtual bool takes_zeros() const { return false; }
  // Whether the next rows should come many at a time, judged by those before: they share the way through a table. Fewer are
  // still in the nearest caches when they are sampled.
  virtual bool wants_many_rows() const { return true; }
  // Writes the t and i of the samples of all rows.
  virtual void sample(const RowBatch& rows, SampleBuffer& samples) = 0;
};

// A batch sampler that takes one row after the other.
class RowSampler : public BatchSampler {
 public:
  explicit RowSampler(StopSign& stop_sign) : stop_sign_(stop_sign) {}

  void sample(const RowBatch& rows, SampleBuffer& samples) final {
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
      stop_sign_.poll();
      samples.clear(r);
      if (rows.n_entries(r) > 0) sample_row(rows.row(r), samples.at(r));
    }
  }

 protected:
  // Writes the samples of a row, which has entries; before, they are those of a row without.
  virtual void sample_row(const Entries& row, const Samples& samples) = 0;

  StopSign& stop_sign_;
};

using MakeBatchSampler = std::function<std::unique_ptr<BatchSampler>()>;

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Builds what pays for the rows of a matrix. The function that is returned makes the batch sampler of a thread.
  virtual MakeBatchSampler start(const InstructionSet& set, const MatrixSummary& matrix, int n_threads,
                                 StopSign& stop_sign) = 0;

  // Caps of all features, and ends of their points: see rejection.hpp.
  virtual void use_caps(const float*, const std::uint64_t*) {
    throw std::invalid_argument("only the method REJECTION has caps");
  }
};

}  // namespace gcwsnet
