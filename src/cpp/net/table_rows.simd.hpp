// Sums of rows that are looked up, and one step of Adam on a row: what the hashed first layer spends its time on.
//
// Loops are plain: each lane is a number of its own, so every instruction set and every number of threads gives the
// same bits.
#pragma once

#include "base/simd.hpp"
#include "net/functions.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kFloatsPerLine = 16;

// Asks for the lines of a row before they are needed.
GCWSNET_INLINE void prefetch_row(const float* row, std::size_t width) {
  for (std::size_t x = 0; x < width; x += kFloatsPerLine) __builtin_prefetch(row + x);
}

GCWSNET_INLINE const float* row_at(const float* rows, std::size_t width, Lookup lookup) {
  return rows + (lookup >> 1) * width;
}
GCWSNET_INLINE float sign_of(Lookup lookup) { return (lookup & 1) ? -1.0f : 1.0f; }

template <bool kSigned>
GCWSNET_INLINE void add_looked_up(const float* rows, std::size_t width, const Lookup* lookups, std::size_t n,
                                  std::size_t ahead, std::size_t n_known, float* __restrict sum) {
  std::size_t p = 0;
  for (; p + 4 <= n; p += 4) {
    for (std::size_t next = p + ahead; next < p + ahead + 4 && next < n_known; ++next) {
      prefetch_row(row_at(rows, width, lookups[next]), width);
    }
    const float* __restrict a = row_at(rows, width, lookups[p]);
    const float* __restrict b = row_at(rows, width, lookups[p + 1]);
    const float* __restrict c = row_at(rows, width, lookups[p + 2]);
    const float* __restrict d = row_at(rows, width, lookups[p + 3]);
    if constexpr (kSigned) {
      const float sa = sign_of(lookups[p]), sb = sign_of(lookups[p + 1]);
      const float sc = sign_of(lookups[p + 2]), sd = sign_of(lookups[p + 3]);
      for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + sa * a[x] + sb * b[x] + sc * c[x] + sd * d[x];
    } else {
      for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + a[x] + b[x] + c[x] + d[x];
    }
  }
  for (; p < n; ++p) {
    const float* __restrict a = row_at(rows, width, lookups[p]);
    const float sign = kSigned ? sign_of(lookups[p]) : 1.0f;
    for (std::size_t x = 0; x < width; ++x) sum[x] += sign * a[x];
  }
}

// sum += the rows, each with its sign, in their order. Rows `ahead` lookups further on are fetched meanwhile, as long
// as their number is below n_known: behind the lookups there may be others that are added later. 0 for rows that are
// near anyway.
inline void add_rows(const float* rows, std::size_t width, const Lookups& lookups, std::size_t ahead,
                     std::size_t n_known, float* sum) {
  if (ahead == 0) n_known = 0;
  if (lookups.has_signs) {
    add_looked_up<true>(rows, width, lookups.lookups, lookups.n, ahead, n_known, sum);
  } else {
    add_looked_up<false>(rows, width, lookups.lookups, lookups.n, ahead, n_known, sum);
  }
}

// Moments of a unit without a gradient shrink until they are subnormal, and stay so. Many processors are slow with
// these, so what is smaller than this is 0. A square is only dropped where its root is lost in the sum with epsilon.
inline constexpr float kTinyMean = 0x1p-100f, kTinySquare = 0x1p-120f;

GCWSNET_INLINE float tiny_square(float epsilon) {
  const float lost = epsilon * 0x1p-25f;
  return lost * lost < kTinySquare ? lost * lost : kTinySquare;
}

GCWSNET_INLINE float without_tiny(float number, float tiny) { return __builtin_fabsf(number) < tiny ? 0.0f : number; }

// One step of Adam on a row whose gradient is `sum`, if there is one, plus the first kLookups of a, b, c and d, with
// their signs. Not inlined: the compiler then takes our word for it that none of them is another, and needs not look
// each time.
template <bool kSigned, bool kHasMean, bool kHasSum, int kLookups>
__attribute__((noinline)) void adam_of_lookups(const AdamStep& step, std::size_t width, const float* __restrict sum,
                                               const float* __restrict a, const float* __restrict b,
                                               const float* __restrict c, const float* __restrict d, const float* sign,
                                               float* __restrict weight, float* __restrict mean,
                                               float* __restrict square) {
  const AdamStep s = step;
  const float least_square = tiny_square(s.epsilon);
  const float sa = sign[0], sb = sign[1], sc = sign[2], sd = sign[3];
  for (std::size_t x = 0; x < width; ++x) {
    float g = (kHasSum ? sum[x] : 0.0f) + (kSigned ? sa * a[x] : a[x]);
    if constexpr (kLookups > 1) g += kSigned ? sb * b[x] : b[x];
    if constexpr (kLookups > 2) g += kSigned ? sc * c[x] : c[x];
    if constexpr (kLookups > 3) g += kSigned ? sd * d[x] : d[x];
    float m = g;
    if constexpr (kHasMean) {
      m = without_tiny(mean[x] + (g - mean[x]) * s.new_mean, kTinyMean);
      mean[x] = m;
    }
    const float v = without_tiny(square[x] + (g * g - square[x]) * s.new_square, least_square);
    square[x] = v;
    weight[x] = weight[x] * s.decay - s.rate * (m / (__builtin_sqrtf(v) + s.epsilon));
  }
}

template <bool kSigned, bool kHasMean, bool kHasSum>
GCWSNET_INLINE void adam_last(const AdamStep& step, const float* sum, const float* rows, std::size_t width,
                              const Lookup* lookups, std::size_t n, const AdamRow& row) {
  const float* from[4];
  float sign[4];
  for (std::size_t p = 0; p < 4; ++p) {
    from[p] = row_at(rows, width, lookups[p < n ? p : 0]);
    sign[p] = sign_of(lookups[p < n ? p : 0]);
  }
  const auto step_on = n == 1   ? adam_of_lookups<kSigned, kHasMean, kHasSum, 1>
                       : n == 2 ? adam_of_lookups<kSigned, kHasMean, kHasSum, 2>
                       : n == 3 ? adam_of_lookups<kSigned, kHasMean, kHasSum, 3>
                                : adam_of_lookups<kSigned, kHasMean, kHasSum, 4>;
  step_on(step, width, sum, from[0], from[1], from[2], from[3], sign, row.weight, row.mean, row.square);
}

template <bool kSigned, bool kHasMean>
GCWSNET_INLINE void adam_sum(const AdamStep& step, const float* gradient, std::size_t width, const Lookups& lookups,
                             float* work, const AdamRow& row) {
  const std::size_t n_last = (lookups.n - 1) % 4 + 1, n_first = lookups.n - n_last;
  const Lookup* last = lookups.lookups + n_first;
  if (n_first == 0) {
    adam_last<kSigned, kHasMean, false>(step, work, gradient, width, last, n_last, row);
    return;
  }
  for (std::size_t x = 0; x < width; ++x) work[x] = 0.0f;
  add_rows(gradient, width, {lookups.lookups, n_first, lookups.has_signs}, 0, 0, work);
  adam_last<kSigned, kHasMean, true>(step, work, gradient, width, last, n_last, row);
}

// One step of Adam on a row whose gradient is the sum of the rows looked up, at least one. `work` is memory for a row.
inline void adam_row(const AdamStep& step, const float* gradient, std::size_t width, const Lookups& lookups,
                     float* work, const AdamRow& row) {
  if (lookups.has_signs) {
    if (row.mean != nullptr) {
      adam_sum<true, true>(step, gradient, width, lookups, work, row);
    } else {
      adam_sum<true, false>(step, gradient, width, lookups, work, row);
    }
  } else if (row.mean != nullptr) {
    adam_sum<false, true>(step, gradient, width, lookups, work, row);
  } else {
    adam_sum<false, false>(step, gradient, width, lookups, work, row);
  }
}

// Fetches what adam_row will read and write.
inline void prefetch_adam_row(const AdamRow& row, std::size_t width) {
  for (std::size_t x = 0; x < width; x += kFloatsPerLine) {
    __builtin_prefetch(row.weight + x, 1);
    if (row.mean != nullptr) __builtin_prefetch(row.mean + x, 1);
    __builtin_prefetch(row.square + x, 1);
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
