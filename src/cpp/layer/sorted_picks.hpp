// Sorting the picks of a group of adjacent rows by their row.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "layer/row_picks.hpp"

namespace gcwsnet {

// What a pick is sorted by, the row in the upper half; in the lower one the sample and the sign.
using RowAndPick = std::uint64_t;

inline std::uint32_t row_of(RowAndPick pick) { return static_cast<std::uint32_t>(pick >> 32); }

inline constexpr int kNarrow = 12;  // bits by which the rows of groups differ that are sorted by counting

// Where the picks of a group go when sorted, its rows, and the ends of the picks of each. Functions that write it return
// the number of rows. Picks of one row stay in their order.
struct SortedGroup {
  RowPick* picks;
  std::uint32_t* rows;
  std::size_t* ends;
  std::size_t begin;  // what ends are counted from
};

// For narrow groups: counts the picks of each row. Bits tell which rows occurred, so that only those are looked at.
class CountingSort {
 public:
  explicit CountingSort(int low_bits) : low_(low_bits > kNarrow ? 0 : (std::uint32_t{1} << low_bits) - 1) {}

  std::size_t operator()(const RowAndPick* picks, std::size_t n, const SortedGroup& to) {
    if (n == 0) return 0;
    const std::uint32_t low = low_, high = row_of(picks[0]) & ~low;
    for (std::size_t p = 0; p < n; ++p) {
      const std::uint32_t row = row_of(picks[p]) & low;
      ++place_[row];
      occurred_[row / 64] |= std::uint64_t{1} << row % 64;
    }
    std::size_t n_rows = 0, before = 0;
    for (std::uint32_t word = 0; word <= low / 64; ++word) {
      for (std::uint64_t bits = std::exchange(occurred_[word], 0); bits != 0; bits &= bits - 1) {
        const std::uint32_t row = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        before += std::exchange(place_[row], before);
        to.rows[n_rows] = high | row;
        to.ends[n_rows++] = to.begin + before;
      }
    }
    for (std::size_t p = 0; p < n; ++p) to.picks[place_[row_of(picks[p]) & low]++] = static_cast<RowPick>(picks[p]);
    for (std::size_t r = 0; r < n_rows; ++r) place_[to.rows[r] & low] = 0;
    return n_rows;
  }

 private:
  std::uint32_t low_;  // bits
  std::vector<std::size_t> place_ = std::vector<std::size_t>(std::size_t{low_} + 1);
  std::vector<std::uint64_t> occurred_ = std::vector<std::uint64_t>(low_ / 64 + 1);
};

inline std::size_t sort_wide(RowAndPick* picks, std::size_t n, const SortedGroup& to) {
  std::stable_sort(picks, picks + n, [](RowAndPick a, RowAndPick b) { return row_of(a) < row_of(b); });
  std::size_t n_rows = 0;
  for (std::size_t p = 0; p < n; ++p) {
    to.picks[p] = static_cast<RowPick>(picks[p]);
    to.rows[n_rows] = row_of(picks[p]);
    to.ends[n_rows] = to.begin + p + 1;
    n_rows += p + 1 == n || row_of(picks[p]) != row_of(picks[p + 1]);
  }
  return n_rows;
}

}  // namespace gcwsnet
