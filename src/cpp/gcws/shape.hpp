// The shape of a row: its largest L and, roughly, the logarithm of the sum of exp(L). It steers the plan, never a sample.
#pragma once

#include "base/simd.hpp"
#include "base/types.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// exp(x) for x up to 0, to some percent: the bits of 2^y are nearly linear in y.
GCWSNET_INLINE Floats rough_exp(const Floats& x) {
  const Floats y = maximum(x * floats(1.442695f), floats(-126.0f));
  return bits<Floats>(to_ints((y + floats(126.94f)) * floats(8388608.0f)));
}

inline RowShape shape_of(const float* L, std::size_t n) {
  const float none = -__builtin_inff();
  if (n == 0) return {none, 0.0f};
  float lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = none;
  const std::size_t whole = n / kLanes * kLanes;
  __builtin_memcpy(lanes, L + whole, (n - whole) * sizeof(float));
  const Floats last = load<Floats>(lanes);
  Floats most = last;
  for (std::size_t e = 0; e < whole; e += kLanes) most = maximum(most, load<Floats>(L + e));
  store(lanes, most);
  float largest = lanes[0];
  for (int lane = 1; lane < kLanes; ++lane) largest = lanes[lane] > largest ? lanes[lane] : largest;

  const std::size_t skip = n >= 512 ? 4 * kLanes : kLanes;  // of long rows a quarter will do
  Floats sum = rough_exp(last - floats(largest));
  std::size_t seen = n - whole;
  for (std::size_t e = 0; e < whole; e += skip, seen += kLanes) sum = sum + rough_exp(load<Floats>(L + e) - floats(largest));
  store(lanes, sum);
  float total = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) total += lanes[lane];
  return {largest, total * static_cast<float>(n) / static_cast<float>(seen)};
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

typedef float FourOfL __attribute__((vector_size(16)));
typedef std::int32_t FourOfFeatures __attribute__((vector_size(16)));

// The numbers of four rows from `at` on: to[i] holds the i-th of each row.
template <class Four, class Number>
GCWSNET_INLINE void transpose_four(const Number* const* rows, std::size_t at, Four* to) {
  Four x[4];
  for (int i = 0; i < 4; ++i) __builtin_memcpy(&x[i], rows[i] + at, sizeof(Four));
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  const Four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  const Four d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  to[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  to[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  to[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  to[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return;
#endif
#endif
  for (int i = 0; i < 4; ++i) {
    for (int row = 0; row < 4; ++row) to[i][row] = x[row][i];
  }
}

// The rows of a group side by side, to[slot][row], for rows that have an entry in every column. With a shift of 1 a column
// is one slot, else two: the one of the other sign gets minus infinity.
inline void side_by_side(const Entries* rows, std::size_t n_columns, int shift, float* to) {
  const FourOfL none = FourOfL{} - __builtin_inff();
  const float* L[kRowGroup];
  const std::uint32_t* feature[kRowGroup];
  for (int row = 0; row < kRowGroup; ++row) {
    L[row] = rows[row].L;
    feature[row] = rows[row].feature;
  }
  std::size_t column = 0;
  for (; column + 4 <= n_columns; column += 4) {
    for (int row = 0; row < kRowGroup; row += 4) {
      FourOfL L_of[4];
      transpose_four(L + row, column, L_of);
      float* at = to + (column << (1 - shift)) * kRowGroup + row;
      if (shift == 1) {
        for (int i = 0; i < 4; ++i) __builtin_memcpy(at + i * kRowGroup, &L_of[i], sizeof(FourOfL));
        continue;
      }
      FourOfFeatures feature_of[4];
      transpose_four(feature + row, column, feature_of);
      for (int i = 0; i < 4; ++i) {
        const FourOfFeatures negative = (feature_of[i] & 1) != 0;
        const FourOfL of_sign[2] = {negative ? none : L_of[i], negative ? L_of[i] : none};
        __builtin_memcpy(at + 2 * i * kRowGroup, &of_sign[0], sizeof(FourOfL));
        __builtin_memcpy(at + (2 * i + 1) * kRowGroup, &of_sign[1], sizeof(FourOfL));
      }
    }
  }
  for (; column < n_columns; ++column) {
    for (int row = 0; row < kRowGroup; ++row) {
      float* at = to + (column << (1 - shift)) * kRowGroup + row;
      if (shift == 0) at[0] = at[kRowGroup] = -__builtin_inff();
      at[shift == 0 && (feature[row][column] & 1) ? kRowGroup : 0] = L[row][column];
    }
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
