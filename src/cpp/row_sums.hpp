// Sums of picked rows of numbers, and one step of Adam on a row: what the hashed first layer spends its time on.
//
// Loops are plain: each lane is a number of its own, so every instruction set and every number of threads gives the same
// bits.
#pragma once

#include "row_picks.hpp"
#include "simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kFloatsPerLine = 16;

// Asks for the lines of a row before they are needed.
GCWSNET_INLINE void prefetch_row(const float* row, std::size_t width) {
  for (std::size_t x = 0; x < width; x += kFloatsPerLine) __builtin_prefetch(row + x);
}

GCWSNET_INLINE const float* picked(const float* rows, std::size_t width, RowPick pick) { return rows + (pick >> 1) * width; }
GCWSNET_INLINE float sign_of(RowPick pick) { return (pick & 1) ? -1.0f : 1.0f; }

template <bool kSigned>
GCWSNET_INLINE void add_picked(const float* rows, std::size_t width, const RowPick* picks, std::size_t n, std::size_t ahead,
                               float* __restrict sum) {
  std::size_t p = 0;
  for (; p + 4 <= n; p += 4) {
    for (std::size_t next = p + ahead; next < p + ahead + 4 && next < n; ++next) {
      prefetch_row(picked(rows, width, picks[next]), width);
    }
    const float* __restrict a = picked(rows, width, picks[p]);
    const float* __restrict b = picked(rows, width, picks[p + 1]);
    const float* __restrict c = picked(rows, width, picks[p + 2]);
    const float* __restrict d = picked(rows, width, picks[p + 3]);
    if constexpr (kSigned) {
      const float sa = sign_of(picks[p]), sb = sign_of(picks[p + 1]);
      const float sc = sign_of(picks[p + 2]), sd = sign_of(picks[p + 3]);
      for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + sa * a[x] + sb * b[x] + sc * c[x] + sd * d[x];
    } else {
      for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + a[x] + b[x] + c[x] + d[x];
    }
  }
  for (; p < n; ++p) {
    const float* __restrict a = picked(rows, width, picks[p]);
    const float sign = kSigned ? sign_of(picks[p]) : 1.0f;
    for (std::size_t x = 0; x < width; ++x) sum[x] += sign * a[x];
  }
}

// sum += the n picked rows, each with its sign, in their order. Rows `ahead` picks further on are fetched meanwhile; 0 for
// rows that are near anyway.
inline void add_rows(const float* rows, std::size_t width, const RowPick* picks, std::size_t n, std::size_t ahead,
                     bool has_signs, float* sum) {
  if (ahead == 0) ahead = n;
  if (has_signs) {
    add_picked<true>(rows, width, picks, n, ahead, sum);
  } else {
    add_picked<false>(rows, width, picks, n, ahead, sum);
  }
}

GCWSNET_INLINE float adam_weight(const AdamStep& step, float weight, float mean, float square) {
  return weight * step.decay - step.rate * (mean / (__builtin_sqrtf(square) + step.epsilon));
}

// One step of Adam on n weights with their gradient. `mean` is null where beta1 is 0: the mean is the gradient then.
inline void adam_row(const AdamStep& step, const float* __restrict gradient, std::size_t n, float* __restrict weight,
                     float* __restrict mean, float* __restrict square) {
  const AdamStep s = step;
  if (mean == nullptr) {
    for (std::size_t x = 0; x < n; ++x) {
      const float g = gradient[x];
      square[x] += (g * g - square[x]) * s.new_square;
      weight[x] = adam_weight(s, weight[x], g, square[x]);
    }
    return;
  }
  for (std::size_t x = 0; x < n; ++x) {
    const float g = gradient[x];
    mean[x] += (g - mean[x]) * s.new_mean;
    square[x] += (g * g - square[x]) * s.new_square;
    weight[x] = adam_weight(s, weight[x], mean[x], square[x]);
  }
}

// Fetches what adam_row will read and write.
inline void prefetch_adam_row(const float* weight, const float* mean, const float* square, std::size_t n) {
  for (std::size_t x = 0; x < n; x += kFloatsPerLine) {
    __builtin_prefetch(weight + x, 1);
    if (mean != nullptr) __builtin_prefetch(mean + x, 1);
    __builtin_prefetch(square + x, 1);
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
