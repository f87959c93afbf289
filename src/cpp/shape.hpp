// The shape of a row: its largest L and, roughly, the logarithm of the sum of exp(L). It steers the plan, never a sample.
#pragma once

#include "simd.hpp"
#include "types.hpp"

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

// The rows of a group side by side, to[slot][row], for rows that have every slot. Four by four at a time.
inline void side_by_side(const float* const* rows, std::size_t n_slots, float* to) {
  typedef float Four __attribute__((vector_size(16)));
  std::size_t slot = 0;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  for (; slot + 4 <= n_slots; slot += 4) {
    for (int row = 0; row < kRowGroup; row += 4) {
      Four x[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&x[i], rows[row + i] + slot, sizeof(Four));
      const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
      const Four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
      const Four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
      const Four d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
      const Four y[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                         __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
      for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (slot + i) * kRowGroup + row, &y[i], sizeof(Four));
    }
  }
#endif
#endif
  for (; slot < n_slots; ++slot) {
    for (int row = 0; row < kRowGroup; ++row) to[slot * kRowGroup + row] = rows[row][slot];
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
