#include "layer/picks_by_row.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/parallel.hpp"
#include "layer/sorted_picks.hpp"

namespace gcwsnet {

namespace {

// Picks in groups of adjacent rows, which threads sort apart. Within a group they are in the order of the samples, and of
// the hashes within a sample.
struct Groups {
  std::vector<std::size_t> first;  // where each group begins, and the end of the last
  int low_bits;                    // of a row: those by which the rows of one group differ
  Aligned<RowAndPick> picks;       // null for groups that are the columns of the codes

  std::size_t n() const { return first.size() - 1; }
  std::size_t size(std::size_t group) const { return first[group + 1] - first[group]; }
};

std::size_t blocks_of(std::size_t n, std::size_t per_block) { return (n + per_block - 1) / per_block; }

template <class Code>
RowAndPick row_and_pick(const RowOfCode& rows, const CodeMatrix<Code>& codes, std::size_t sample, std::size_t hash) {
  const RowPick pick = rows(hash, static_cast<std::uint64_t>(codes.codes[sample * codes.n_hashes + hash]));
  return static_cast<RowAndPick>(pick >> 1) << 32 | (sample << 1) | (pick & 1);
}

// Without a sketch each hash has rows of its own, and each sample picks one of them.
template <class Code>
Groups groups_by_hash(const RowOfCode& rows, const CodeMatrix<Code>& codes) {
  Groups groups{std::vector<std::size_t>(codes.n_hashes + 1), rows.bits(), nullptr};
  for (std::size_t j = 0; j <= codes.n_hashes; ++j) groups.first[j] = j * codes.n_samples;
  return groups;
}

// Otherwise picks are put into groups by the high bits of their rows: counted, then placed.
template <class Code>
Groups groups_by_high_bits(const RowOfCode& rows, const CodeMatrix<Code>& codes, int n_threads) {
  constexpr std::size_t kPicksPerGroup = 64, kMostGroups = 1024;
  const std::size_t n_hashes = codes.n_hashes, n_picks = codes.n_samples * n_hashes;
  const int row_bits = static_cast<int>(std::bit_width(rows.n_rows() - 1));
  const int group_bits = static_cast<int>(std::bit_width(std::min(n_picks / kPicksPerGroup, kMostGroups)));
  Groups groups{{}, std::max(row_bits - group_bits, 0), aligned<RowAndPick>(n_picks)};
  const std::size_t n_groups = ((rows.n_rows() - 1) >> groups.low_bits) + 1;
  const auto group_of = [&](RowAndPick pick) { return std::size_t{row_of(pick)} >> groups.low_bits; };

  // The picks of a part keep their order, and so do the parts: into how many parts a batch is cut changes nothing.
  const std::size_t n_parts = n_threads == 1 ? 1 : 4 * static_cast<std::size_t>(n_threads);
  const std::size_t samples_per_part = blocks_of(codes.n_samples, n_parts);
  const Aligned<RowAndPick> in_order = aligned<RowAndPick>(n_picks);
  std::vector<std::size_t> places(n_parts * n_groups);
  const auto for_each_part = [&](auto work) {
    StopSign stop_sign = StopSign::never();
    for_each_block(n_parts, n_threads, stop_sign, [&] {
      return [&](std::size_t part) {
        const std::size_t begin = std::min(part * samples_per_part, codes.n_samples);
        const std::size_t end = std::min(begin + samples_per_part, codes.n_samples);
        work(begin, end, places.data() + part * n_groups);
      };
    });
  };
  for_each_part([&](std::size_t begin, std::size_t end, std::size_t* count) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < n_hashes; ++j) {
        const RowAndPick pick = row_and_pick(rows, codes, i, j);
        in_order[i * n_hashes + j] = pick;
        ++count[group_of(pick)];
      }
    }
  });
  std::size_t before = 0;
  for (std::size_t group = 0; group < n_groups; ++group) {
    groups.first.push_back(before);
    for (std::size_t part = 0; part < n_parts; ++part) before += std::exchange(places[part * n_groups + group], before);
  }
  groups.first.push_back(before);
  for_each_part([&](std::size_t begin, std::size_t end, std::size_t* place) {
    for (std::size_t p = begin * n_hashes; p < end * n_hashes; ++p) {
      groups.picks[place[group_of(in_order[p])]++] = in_order[p];
    }
  });
  return groups;
}

}  // namespace

template <class Code>
PicksByRow::PicksByRow(const RowOfCode& rows, const CodeMatrix<Code>& codes, int n_threads)
    : n_samples_(codes.n_samples),
      n_table_rows_(rows.n_rows()),
      n_picks_(codes.n_samples * codes.n_hashes),
      has_signs_(rows.has_signs()),
      picks_(aligned<RowPick>(n_picks_)),
      row_of_(aligned<std::uint32_t>(n_picks_)),
      first_(aligned<std::size_t>(n_picks_ + 1)) {
  constexpr std::size_t kWorthAThread = 1 << 12, kPicksPerBlock = 512;
  first_[0] = 0;
  if (n_picks_ == 0) return;
  n_threads = useful_threads(n_threads, n_picks_ / kWorthAThread);
  const bool by_hash = !has_signs_ && rows.bits() <= kNarrow;
  const Groups groups = by_hash ? groups_by_hash(rows, codes) : groups_by_high_bits(rows, codes, n_threads);

  // The rows of a group first stand where its picks do: there are at most as many.
  std::vector<std::size_t> n_rows(groups.n());
  const std::size_t per_block = std::max<std::size_t>(1, kPicksPerBlock * groups.n() / n_picks_);
  StopSign stop_sign = StopSign::never();
  for_each_block(blocks_of(groups.n(), per_block), n_threads, stop_sign, [&] {
    return [&, column = std::vector<RowAndPick>(by_hash ? n_samples_ : 0),
            count = CountingSort(groups.low_bits)](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * per_block, groups.n());
      for (std::size_t group = block * per_block; group < end; ++group) {
        const std::size_t begin = groups.first[group], n = groups.size(group);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] = row_and_pick(rows, codes, i, group);
        RowAndPick* picks = by_hash ? column.data() : groups.picks.get() + begin;
        const SortedGroup to{picks_.get() + begin, row_of_.get() + begin, first_.get() + begin + 1, begin};
        n_rows[group] = groups.low_bits <= kNarrow ? count(picks, n, to) : sort_wide(picks, n, to);
      }
    };
  });
  for (std::size_t group = 0; group < groups.n(); ++group) {
    const std::size_t from = groups.first[group];
    for (std::size_t row = from; row < from + n_rows[group]; ++row) {
      row_of_[n_picked_rows_] = row_of_[row];
      first_[++n_picked_rows_] = first_[row + 1];
    }
  }
}

namespace {
constexpr std::size_t kRowsPerBlock = 32;
}

void PicksByRow::row_sums(const float* gradient, std::size_t width, std::int64_t* rows, float* sums,
                          int n_threads) const {
  const InstructionSet& set = chosen_instruction_set();
  n_threads = useful_threads(n_threads, n_picks_ * width / kNumbersWorthAThread);
  StopSign stop_sign = StopSign::never();
  for_each_block(blocks_of(n_picked_rows_, kRowsPerBlock), n_threads, stop_sign, [&] {
    return [&](std::size_t block) {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n_picked_rows_);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        rows[r] = static_cast<std::int64_t>(row_of_[r]);
        float* sum = sums + r * width;
        std::fill_n(sum, width, 0.0f);
        set.add_rows(gradient, width, picks(r), 0, 0, sum);
      }
    };
  });
}

void PicksByRow::adam(const AdamStep& step, const float* gradient, std::size_t width, float* table, float* mean,
                      float* square, int n_threads) const {
  constexpr std::size_t kRowsAhead = 2;
  const InstructionSet& set = chosen_instruction_set();
  const auto adam_row = [&](std::size_t r) {
    const std::size_t at = std::size_t{row_of_[r]} * width;
    return AdamRow{table + at, mean == nullptr ? nullptr : mean + at, square + at};
  };
  n_threads = useful_threads(n_threads, n_picks_ * width / kNumbersWorthAThread);
  StopSign stop_sign = StopSign::never();
  for_each_block(blocks_of(n_picked_rows_, kRowsPerBlock), n_threads, stop_sign, [&] {
    return [&, work = std::vector<float>(2 * width)](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n_picked_rows_);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        if (r + kRowsAhead < n_picked_rows_) set.prefetch_adam_row(adam_row(r + kRowsAhead), width);
        set.adam_row(step, gradient, width, picks(r), work.data(), adam_row(r));
      }
    };
  });
}

#define GCWSNET_FOR_CODES(Code) template PicksByRow::PicksByRow(const RowOfCode&, const CodeMatrix<Code>&, int);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::int32_t)
GCWSNET_FOR_CODES(std::int64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
