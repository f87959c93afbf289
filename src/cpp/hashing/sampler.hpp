// What the hasher asks of a sampler. docs/hash-specification.md and docs/samplers-specification.md say what samples
// are.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/parallel.hpp"
#include "hashing/rows.hpp"
#include "hashing/sample_keys.hpp"

namespace gcwsnet {

// Some rows of the matrix.
struct RowBatch {
  EntryBuffer entries;  // of all rows, row r from start[r] to start[r + 1]
  std::vector<std::size_t> start = {0};
  std::vector<RowSummary> summary;  // of each row

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
    const std::size_t n = (n_rows + kMaxRowGroup - 1) / kMaxRowGroup * kMaxRowGroup * padded_hashes_;
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
  // Whether the next rows should come many at a time, judged by those before: they share the way through a table. Fewer
  // are still in the nearest caches when they are sampled.
  virtual bool wants_many_rows() const { return true; }
  // Writes the t and i of the samples of all rows.
  virtual void sample(const RowBatch& rows, SampleBuffer& samples) = 0;
};

// A batch sampler that takes one row after the other.
class RowSampler : public BatchSampler {
 public:
  explicit RowSampler(StopToken& stop_token) : stop_token_(stop_token) {}

  void sample(const RowBatch& rows, SampleBuffer& samples) final {
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
      stop_token_.poll();
      samples.clear(r);
      if (rows.n_entries(r) > 0) sample_row(rows.row(r), samples.at(r));
    }
  }

 protected:
  // Writes the samples of a row, which has entries; before, they are those of a row without.
  virtual void sample_row(const Entries& row, const Samples& samples) = 0;

  StopToken& stop_token_;
};

using MakeBatchSampler = std::function<std::unique_ptr<BatchSampler>()>;

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Builds what pays for these rows. The function that is returned makes the batch sampler of a thread.
  virtual MakeBatchSampler start(const HashingFunctions& functions, const RowSource& rows, int n_threads,
                                 StopToken& stop_token) = 0;

  // Logarithms of the caps of all features, and ends of their points: they never fall, and the last one is 2^63. Both
  // are copied. Rows that are being hashed keep the caps they started with.
  virtual void use_caps(const float*, const std::uint64_t*) {
    throw std::invalid_argument("only the method REJECTION has caps");
  }
};

// How GCWS scans rows. All ways give the same samples; kAuto takes the one that looks quickest, the others are there to
// be compared.
enum class Scan { kAuto, kFull, kSorted, kHeavy, kRanks };

// The samplers, one in each file. What they keep between rows takes at most `table_bytes`.
//
// GCWS is the paper's Algorithm 1: parameters are a pure function of (seed, feature, hash).
std::unique_ptr<Sampler> make_gcws(const SampleKeys& keys, std::size_t table_bytes, Scan scan);
// Points are drawn under the caps of all features until one lies under the row.
std::unique_ptr<Sampler> make_rejection(const SampleKeys& keys, std::size_t table_bytes);
// Columns fall into as many bins as there are hashes, and each bin gives one sample.
std::unique_ptr<Sampler> make_binwise(const SampleKeys& keys, std::size_t table_bytes);
// The lowest of random points that stand under the weights of a row.
std::unique_ptr<Sampler> make_extremal(const SampleKeys& keys);
// A row is the set of its non-zero entries, whatever their sizes.
std::unique_ptr<Sampler> make_minwise(const SampleKeys& keys);

}  // namespace gcwsnet
