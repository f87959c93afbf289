#include "samplers/extremal.hpp"

#include <algorithm>
#include <cmath>

namespace gcwsnet {

namespace {

constexpr std::size_t kBlocksBetweenPolls = 16;
constexpr float kCell = 8.0f;  // the width of a cell on the axis of L

class RowByPoints {
 public:
  RowByPoints(const InstructionSet& set, const Tables& tables, const KeyStream& points, StopSign& stop_sign)
      : set_(set), tables_(tables), points_(points), stop_sign_(stop_sign) {}

  void operator()(const Entries& row, const Samples& samples) {
    const std::int64_t highest = cell_of(*std::max_element(row.L, row.L + row.n));
    find_cells(highest);
    PointEntries& entries = work_->entries;
    std::uint32_t most_lag = 0;
    entries.n = 0;
    for (std::size_t e = 0; e < row.n; ++e) {
      const std::int64_t lag = highest - cell_of(row.L[e]);
      if (lag > kMostLag) continue;  // cannot win
      const Key key = tables_.feature_key(row.feature[e]);
      entries.feature[entries.n] = row.feature[e];
      entries.folded_low[entries.n] = key.low ^ (key.low >> 16);
      entries.high[entries.n] = key.high;
      entries.lag[entries.n] = static_cast<std::uint32_t>(lag);
      work_->L[entries.n] = row.L[e];
      most_lag = std::max(most_lag, entries.lag[entries.n]);
      if (++entries.n == PointEntries::kMost) finish_entries(most_lag, samples);
    }
    finish_entries(most_lag, samples);
  }

 private:
  // Cells and entries are not small, and a function is copied.
  struct Work {
    PointEntries entries;
    float L[PointEntries::kMost];
    CellKeys cells;
    std::int64_t highest;
    bool cells_are_there = false;
  };

  static std::int64_t cell_of(float L) { return static_cast<std::int64_t>(std::floor(L / kCell)); }

  void find_cells(std::int64_t highest) {
    if (work_->cells_are_there && work_->highest == highest) return;
    constexpr std::int64_t kNumbers = std::int64_t{1} << 18;
    for (int d = 0; d < kMostCells; ++d) {
      const std::int64_t cell = highest - d;
      const std::uint64_t first = std::uint64_t{kMostSteps} * static_cast<std::uint64_t>(cell);
      for (std::uint64_t s = 0; s < kMostSteps; ++s) work_->cells.step[d][s] = halves(points_(first + s));
      const std::int64_t reduced = (((cell + kNumbers / 2) % kNumbers) + kNumbers) % kNumbers - kNumbers / 2;
      work_->cells.number[d] = static_cast<float>(kMostSteps * reduced);
    }
    work_->highest = highest;
    work_->cells_are_there = true;
  }

  void finish_entries(std::uint32_t most_lag, const Samples& samples) {
    PointEntries& entries = work_->entries;
    set_.rooms(work_->L, entries.n, entries.room);
    for (std::size_t block = 0; block < tables_.n_blocks(); ++block) {
      if (block % kBlocksBetweenPolls == 0) stop_sign_.poll();
      const std::size_t at = block * kHashBlock;
      set_.lowest_points(entries, work_->cells, most_lag, tables_.hash_keys()[block],
                         {samples.a + at, samples.t + at, samples.i + at});
    }
    entries.n = 0;
  }

  const InstructionSet& set_;
  const Tables& tables_;
  const KeyStream points_;
  StopSign& stop_sign_;
  std::shared_ptr<Work> work_ = std::make_shared<Work>();
};

}  // namespace

Extremal::Extremal(std::uint64_t seed, const Tables& tables)
    : points_(seed, KeyStream::Purpose::kPoints), tables_(tables) {}

std::function<RowSampler()> Extremal::start(const InstructionSet& set, std::size_t, int, StopSign& stop_sign) {
  return [&set, this, &stop_sign] { return RowSampler(RowByPoints(set, tables_, points_, stop_sign)); };
}

}  // namespace gcwsnet
