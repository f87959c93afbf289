// Rows of numbers in the layers behind the first: inner products, sums of multiples, and what ReLU does to them.
//
// Each lane is a number of its own, and inner products have one tree of sums whatever the registers: sixteen sums, of
// which number l has the products l, l + 16, l + 32, ..., and then the sums of their halves. So every instruction set
// gives the same bits.
#pragma once

#include "base/simd.hpp"
#include "net/functions.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

typedef float EightFloats __attribute__((vector_size(32)));
typedef float FourFloatsOfHalf __attribute__((vector_size(16)));

GCWSNET_INLINE float sum_of_lanes(const Floats& sums) {
  EightFloats eight[2];
  store(eight, sums);
  eight[0] += eight[1];
  FourFloatsOfHalf four[2];
  __builtin_memcpy(four, eight, sizeof four);
  four[0] += four[1];
  return (four[0][0] + four[0][2]) + (four[0][1] + four[0][3]);
}

// out[i][q] = bias[q] + inner product of row i of x and row q of y, two rows of each at a time. Rows are filled up with
// zeros to a multiple of sixteen, `width`.
inline void inner_products(const MatrixRows& x, const MatrixRows& y, std::size_t width, const float* bias, float* out,
                           std::size_t out_stride) {
  for (std::size_t i = 0; i < x.n; i += 2) {
    const std::size_t other_i = i + 1 < x.n ? i + 1 : i;
    const float* a = x.rows + i * x.stride;
    const float* b = x.rows + other_i * x.stride;
    for (std::size_t q = 0; q < y.n; q += 2) {
      const std::size_t other_q = q + 1 < y.n ? q + 1 : q;
      const float* u = y.rows + q * y.stride;
      const float* v = y.rows + other_q * y.stride;
      Floats au{}, av{}, bu{}, bv{};
      for (std::size_t at = 0; at < width; at += kLanes) {
        const Floats a_here = load<Floats>(a + at), b_here = load<Floats>(b + at);
        const Floats u_here = load<Floats>(u + at), v_here = load<Floats>(v + at);
        au = au + a_here * u_here;
        av = av + a_here * v_here;
        bu = bu + b_here * u_here;
        bv = bv + b_here * v_here;
      }
      out[i * out_stride + q] = sum_of_lanes(au) + bias[q];
      out[i * out_stride + other_q] = sum_of_lanes(av) + bias[other_q];
      out[other_i * out_stride + q] = sum_of_lanes(bu) + bias[q];
      out[other_i * out_stride + other_q] = sum_of_lanes(bv) + bias[other_q];
    }
  }
}

// sum = the rows, each times its factor. The factors are `factor_stride` apart.
inline void sum_of_multiples(const MatrixRows& rows, const float* factors, std::size_t factor_stride, std::size_t width,
                             float* __restrict sum) {
  for (std::size_t x = 0; x < width; ++x) sum[x] = 0.0f;
  std::size_t r = 0;
  for (; r + 4 <= rows.n; r += 4) {
    const float* __restrict a = rows.rows + r * rows.stride;
    const float* __restrict b = a + rows.stride;
    const float* __restrict c = b + rows.stride;
    const float* __restrict d = c + rows.stride;
    const float* factor = factors + r * factor_stride;
    const float fa = factor[0], fb = factor[factor_stride], fc = factor[2 * factor_stride],
                fd = factor[3 * factor_stride];
    for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + ((fa * a[x] + fb * b[x]) + (fc * c[x] + fd * d[x]));
  }
  for (; r < rows.n; ++r) {
    const float* __restrict a = rows.rows + r * rows.stride;
    const float fa = factors[r * factor_stride];
    for (std::size_t x = 0; x < width; ++x) sum[x] = sum[x] + fa * a[x];
  }
}

// ReLU in place. NaN stays NaN: it is to be seen in the loss.
inline void relu(float* numbers, std::size_t n) {
  for (std::size_t x = 0; x < n; ++x) numbers[x] = numbers[x] < 0.0f ? 0.0f : numbers[x];
}

// gradient = 0 where the output of ReLU is not positive.
inline void relu_backward(const float* __restrict outputs, std::size_t n, float* __restrict gradient) {
  for (std::size_t x = 0; x < n; ++x) gradient[x] = outputs[x] > 0.0f ? gradient[x] : 0.0f;
}

// sum += factor row
inline void axpy(const float* __restrict row, float factor, std::size_t n, float* __restrict sum) {
  for (std::size_t x = 0; x < n; ++x) sum[x] = sum[x] + factor * row[x];
}

// mean = now + share (mean - now)
inline void update_moving_average(const float* __restrict now, float share, std::size_t n, float* __restrict mean) {
  for (std::size_t x = 0; x < n; ++x) mean[x] = now[x] + share * (mean[x] - now[x]);
}

// mean = (older + (newer + rows now)) / total
inline void mean_of_sums(const float* __restrict older, const float* __restrict newer, const float* __restrict now,
                         float rows, float total, std::size_t n, float* __restrict mean) {
  for (std::size_t x = 0; x < n; ++x) mean[x] = (older[x] + (newer[x] + rows * now[x])) / total;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
