// A row minus multiples of other rows: the elimination of least squares.
//
// Each lane is a number of its own, so every instruction set gives the same bits.
#pragma once

#include <cstddef>

namespace gcwsnet {
namespace GCWSNET_ISA {

// row -= the rows, each times its factor, one after the other. The rows are `stride` apart.
inline void subtract_multiples(const double* rows, std::size_t stride, const double* factors, std::size_t n_rows,
                               std::size_t width, double* __restrict row) {
  std::size_t r = 0;
  for (; r + 8 <= n_rows; r += 8) {
    const double* __restrict a = rows + r * stride;
    const double* f = factors + r;
    const double f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4], f5 = f[5], f6 = f[6], f7 = f[7];
    for (std::size_t x = 0; x < width; ++x) {
      double left = row[x] - f0 * a[x] - f1 * a[stride + x];
      left = left - f2 * a[2 * stride + x] - f3 * a[3 * stride + x];
      left = left - f4 * a[4 * stride + x] - f5 * a[5 * stride + x];
      row[x] = left - f6 * a[6 * stride + x] - f7 * a[7 * stride + x];
    }
  }
  for (; r < n_rows; ++r) {
    const double* __restrict a = rows + r * stride;
    const double factor = factors[r];
    for (std::size_t x = 0; x < width; ++x) row[x] -= factor * a[x];
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
