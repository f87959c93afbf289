#include <algorithm>
#include <cmath>

#include "hashing/sampler.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kBlocksBetweenPolls = 16;
constexpr float kCell = 8.0f;  // the width of a cell on the axis of L

class ExtremalRowSampler : public RowSampler {
 public:
  ExtremalRowSampler(const HashingFunctions& functions, const SampleKeys& keys, StopToken& stop_token)
      : RowSampler(stop_token), functions_(functions), keys_(keys), points_(keys.seed(), KeyStream::Purpose::kPoints) {}

 private:
  void sample_row(const Entries& row, const Samples& samples) override {
    const std::int64_t highest = cell_of(*std::max_element(row.L, row.L + row.n));
    find_cells(highest);
    std::uint32_t max_lag = 0;
    entries_.n = 0;
    for (std::size_t e = 0; e < row.n; ++e) {
      const std::int64_t lag = highest - cell_of(row.L[e]);
      if (lag > kMaxLag) continue;  // cannot win
      const Key key = keys_.feature(row.feature[e]);
      entries_.feature[entries_.n] = row.feature[e];
      entries_.folded_low[entries_.n] = key.low ^ (key.low >> 16);
      entries_.high[entries_.n] = key.high;
      entries_.lag[entries_.n] = static_cast<std::uint32_t>(lag);
      L_[entries_.n] = row.L[e];
      max_lag = std::max(max_lag, entries_.lag[entries_.n]);
      if (++entries_.n == PointEntries::kMax) finish_entries(max_lag, samples);
    }
    finish_entries(max_lag, samples);
  }

  static std::int64_t cell_of(float L) { return static_cast<std::int64_t>(std::floor(L / kCell)); }

  void find_cells(std::int64_t highest) {
    if (has_cells_ && highest_ == highest) return;
    constexpr std::int64_t kNumbers = std::int64_t{1} << 18;
    for (int d = 0; d < kMaxCells; ++d) {
      const std::int64_t cell = highest - d;
      const std::uint64_t first = std::uint64_t{kMaxSteps} * static_cast<std::uint64_t>(cell);
      for (std::uint64_t s = 0; s < kMaxSteps; ++s) cells_.step[d][s] = halves(points_(first + s));
      const std::int64_t reduced = (((cell + kNumbers / 2) % kNumbers) + kNumbers) % kNumbers - kNumbers / 2;
      cells_.number[d] = static_cast<float>(kMaxSteps * reduced);
    }
    highest_ = highest;
    has_cells_ = true;
  }

  void finish_entries(std::uint32_t max_lag, const Samples& samples) {
    functions_.weights_above_cells(L_, entries_.n, entries_.above);
    for (std::size_t block = 0; block < keys_.n_blocks(); ++block) {
      if (block % kBlocksBetweenPolls == 0) stop_token_.poll();
      const std::size_t at = block * kHashBlock;
      functions_.lowest_points(entries_, cells_, max_lag, keys_.hash_block(block),
                               {samples.a + at, samples.t + at, samples.i + at});
    }
    entries_.n = 0;
  }

  const HashingFunctions& functions_;
  const SampleKeys& keys_;
  const KeyStream points_;
  PointEntries entries_;
  float L_[PointEntries::kMax];  // of the entries
  CellKeys cells_;
  std::int64_t highest_ = 0;  // of the cells, if they are there
  bool has_cells_ = false;
};

class Extremal : public Sampler {
 public:
  explicit Extremal(const SampleKeys& keys) : keys_(keys) {}

  MakeBatchSampler start(const HashingFunctions& functions, const RowSource&, int, StopToken& stop_token) override {
    return
        [this, &functions, &stop_token] { return std::make_unique<ExtremalRowSampler>(functions, keys_, stop_token); };
  }

 private:
  const SampleKeys& keys_;
};

}  // namespace

std::unique_ptr<Sampler> make_extremal(const SampleKeys& keys) { return std::make_unique<Extremal>(keys); }

}  // namespace gcwsnet
