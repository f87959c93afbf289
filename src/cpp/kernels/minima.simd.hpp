// Sums of minima of powered rows, the numerator of the pGMM kernel.
//
// A powered row is sign(u_i) |u_i|^p, scaled so that its largest entry is near one. The positive and the negative part
// of a column are two features of the kernel; of a pair of entries only parts of the same sign have a minimum above
// zero.
//
// A sum has eight lanes whatever the instruction set, added up in one order: the same bits everywhere.
#pragma once

#include "base/simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr int kDoubles = kRegisterLanes / 2;
inline constexpr int kTileX = 2;
inline constexpr int kTileY = 4;
// Eight lanes are kParts registers. That many pairs of rows are done at once that their sums take eight registers.
inline constexpr int kPairsX = kParts == 4 ? 1 : 2;
inline constexpr int kPairsY = kParts == 1 ? 4 : 2;
static_assert(kDoubles * kParts == 8);

typedef std::int64_t LongRegister __attribute__((vector_size(sizeof(DoubleRegister))));

GCWSNET_INLINE DoubleRegister load_doubles(const double* from) {
  DoubleRegister loaded;
  __builtin_memcpy(&loaded, from, sizeof loaded);
  return loaded;
}
GCWSNET_INLINE DoubleRegister smaller(const DoubleRegister& a, const DoubleRegister& b) {
#if defined(__AVX512F__)
  return (DoubleRegister)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (DoubleRegister)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
  return a < b ? a : b;
#endif
}
GCWSNET_INLINE DoubleRegister larger(const DoubleRegister& a, const DoubleRegister& b) {
#if defined(__AVX512F__)
  return (DoubleRegister)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
  return (DoubleRegister)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
  return a > b ? a : b;
#endif
}

// An entry of the first row of a pair: its size, and its sign as a bit.
template <bool kSigned>
class Entry {
 public:
  GCWSNET_INLINE explicit Entry(const DoubleRegister& a) : size_(a), sign_{} {
    if constexpr (kSigned) {
      sign_ = (LongRegister)a & kSignBit;
      size_ = (DoubleRegister)((LongRegister)a & ~kSignBit);
    }
  }

  // Its minimum with an entry of the second row; zero if their signs differ.
  GCWSNET_INLINE DoubleRegister minimum(const DoubleRegister& b) const {
    if constexpr (kSigned) {
      const DoubleRegister towards = (DoubleRegister)((LongRegister)b ^ sign_);
      return larger(smaller(towards, size_), DoubleRegister{});
    } else {
      return smaller(b, size_);
    }
  }

 private:
  static constexpr std::int64_t kSignBit = std::int64_t{1} << 63;
  DoubleRegister size_;
  LongRegister sign_;
};

// sums[x][y] += sum over n columns of the minima of a[x] and factor[x][y] * b[y]. n is a multiple of 8.
template <bool kSigned, int X, int Y>
GCWSNET_INLINE void minima_tile(const double* const* a, const double* const* b, const double (*factor)[kTileY],
                                std::size_t n, double (*sums)[kTileY]) {
  DoubleRegister sum[X][Y][kParts], scale[X][Y];
#pragma GCC unroll 2
  for (int x = 0; x < X; ++x) {
#pragma GCC unroll 4
    for (int y = 0; y < Y; ++y) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) sum[x][y][part] = DoubleRegister{};
      scale[x][y] = factor[x][y] - DoubleRegister{};
    }
  }
  for (std::size_t i = 0; i < n; i += kDoubles * kParts) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const std::size_t at = i + static_cast<std::size_t>(part * kDoubles);
#pragma GCC unroll 2
      for (int x = 0; x < X; ++x) {
        const Entry<kSigned> left(load_doubles(a[x] + at));
#pragma GCC unroll 4
        for (int y = 0; y < Y; ++y) sum[x][y][part] += left.minimum(scale[x][y] * load_doubles(b[y] + at));
      }
    }
  }
#pragma GCC unroll 2
  for (int x = 0; x < X; ++x) {
#pragma GCC unroll 4
    for (int y = 0; y < Y; ++y) {
      double total = 0.0;
      for (int lane = 0; lane < kDoubles * kParts; ++lane) total += sum[x][y][lane / kDoubles][lane % kDoubles];
      sums[x][y] += total;
    }
  }
}

// A tile of up to 2 x 4 pairs of rows.
template <bool kSigned>
inline void minima(const double* const* a, int n_a, const double* const* b, int n_b, const double (*factor)[kTileY],
                   std::size_t n, double (*sums)[kTileY]) {
  const bool whole = n_a == kTileX && n_b == kTileY;
  const int step_x = whole ? kPairsX : 1, step_y = whole ? kPairsY : 1;
  for (int x = 0; x < n_a; x += step_x) {
    for (int y = 0; y < n_b; y += step_y) {
      double here[kTileX][kTileY] = {}, scale[kTileX][kTileY] = {};
      for (int i = 0; i < step_x; ++i) {
        for (int j = 0; j < step_y; ++j) scale[i][j] = factor[x + i][y + j];
      }
      if (whole) {
        minima_tile<kSigned, kPairsX, kPairsY>(a + x, b + y, scale, n, here);
      } else {
        minima_tile<kSigned, 1, 1>(a + x, b + y, scale, n, here);
      }
      for (int i = 0; i < step_x; ++i) {
        for (int j = 0; j < step_y; ++j) sums[x + i][y + j] += here[i][j];
      }
    }
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
