// The shape of a row: what steers the plan and never a sample; its heavy part; and rows side by side.
#pragma once

#include "hashing/sorted_scan.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// exp(x) for x up to 0, to some percent: the bits of 2^y are nearly linear in y.
GCWSNET_INLINE Floats rough_exp(const Floats& x) {
  const Floats y = maximum(x * floats(1.442695f), floats(-126.0f));
  return bits<Floats>(to_ints((y + floats(126.94f)) * floats(8388608.0f)));
}

inline constexpr std::size_t kSampledFrom = 512;  // of rows as long as this a quarter will do

// The sum of exp(L - largest_L), roughly.
inline float sum_of_exp(const float* L, std::size_t n, float largest_L) {
  const std::size_t step = n >= kSampledFrom ? 4 * kLanes : kLanes;
  const std::size_t whole = n / kLanes * kLanes;
  float lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = -__builtin_inff();
  __builtin_memcpy(lanes, L + whole, (n - whole) * sizeof(float));
  Floats sum = rough_exp(load<Floats>(lanes) - floats(largest_L));
  std::size_t seen = n - whole;
  for (std::size_t e = 0; e < whole; e += step, seen += kLanes)
    sum = sum + rough_exp(load<Floats>(L + e) - floats(largest_L));
  store(lanes, sum);
  float total = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) total += lanes[lane];
  return total * static_cast<float>(n) / static_cast<float>(seen);
}

// Adds to each of sixteen counts how many L are above its threshold, roughly.
inline void count_above(const float* L, std::size_t n, const float* thresholds, float* counts) {
  const std::size_t step = n >= kSampledFrom ? 4 : 1;
  const Floats threshold = load<Floats>(thresholds);
  Ints above = Ints{};
  for (std::size_t e = 0; e < n; e += step) above = above - (threshold < floats(L[e]));
  store(counts, load<Floats>(counts) + to_floats(above) * floats(static_cast<float>(step)));
}

// Copies the entries with an L above the threshold.
inline HeavyPart take_heavy(const Entries& row, float threshold, std::uint32_t* feature, float* L) {
  const float none = -__builtin_inff();
  std::size_t n = 0;
  const auto take = [&](std::size_t e) {
    feature[n] = row.feature[e];
    L[n++] = row.L[e];
  };
  Floats most = floats(none);
  const std::size_t whole = row.n / kLanes * kLanes;
  for (std::size_t e = 0; e < whole; e += kLanes) {
    const Floats here = load<Floats>(row.L + e);
    const Ints heavy = floats(threshold) < here;
    most = maximum(most, select(heavy, floats(none), here));
    for (std::uint32_t lanes = lanes_where(heavy); lanes != 0; lanes &= lanes - 1) {
      take(e + static_cast<std::size_t>(__builtin_ctz(lanes)));
    }
  }
  float rest[kLanes];
  store(rest, most);
  float largest = none;
  for (int lane = 0; lane < kLanes; ++lane) largest = rest[lane] > largest ? rest[lane] : largest;
  for (std::size_t e = whole; e < row.n; ++e) {
    if (row.L[e] > threshold) {
      take(e);
    } else {
      largest = row.L[e] > largest ? row.L[e] : largest;
    }
  }
  return {n, largest};
}

// The rows of a group side by side, to[slot][row], from L[row][column], minus infinity where a row has a zero. With a
// shift of 1 a column is one slot, else two: the one of the other sign gets minus infinity.
inline void interleave_rows(const Entries* rows, std::size_t n_columns, int shift, float* to) {
  const FourFloats none = FourFloats{} - __builtin_inff();
  std::size_t column = 0;
  for (; column + 4 <= n_columns; column += 4) {
    for (int row = 0; row < kRowGroup; row += 4) {
      FourFloats L[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&L[i], rows[row + i].L + column, sizeof L[i]);
      transpose_four(L);
      float* at = to + (column << (1 - shift)) * kRowGroup + row;
      if (shift == 1) {
        for (int i = 0; i < 4; ++i) __builtin_memcpy(at + i * kRowGroup, &L[i], sizeof L[i]);
        continue;
      }
      FourInts feature[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&feature[i], rows[row + i].feature + column, sizeof feature[i]);
      transpose_four(feature);
      for (int i = 0; i < 4; ++i) {
        const FourInts negative = (feature[i] & 1) != 0;
        const FourFloats of_sign[2] = {negative ? none : L[i], negative ? L[i] : none};
        __builtin_memcpy(at + 2 * i * kRowGroup, &of_sign[0], sizeof of_sign[0]);
        __builtin_memcpy(at + (2 * i + 1) * kRowGroup, &of_sign[1], sizeof of_sign[1]);
      }
    }
  }
  for (; column < n_columns; ++column) {
    for (int row = 0; row < kRowGroup; ++row) {
      float* at = to + (column << (1 - shift)) * kRowGroup + row;
      if (shift == 0) at[0] = at[kRowGroup] = -__builtin_inff();
      at[shift == 0 && (rows[row].feature[column] & 1) ? kRowGroup : 0] = rows[row].L[column];
    }
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
