#include "kernels/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "dispatch.hpp"
#include "kernels/functions.hpp"

namespace gcwsnet {

namespace {

// Two rows without entries are equal: their kernel is 1.
double kernel(double minima, double sum_x, double sum_y) {
  const double maxima = sum_x + sum_y - minima;
  return maxima == 0.0 ? 1.0 : minima / maxima;
}

template <class Rows>
double scale_of(const Rows& x, const Rows& y, std::size_t a, std::size_t b) {
  if (x.log2_scale == nullptr) return 1.0;
  return std::exp2(std::clamp(y.log2_scale[b] - x.log2_scale[a], -900.0, 900.0));
}

template <class Rows, class Kernel>
void for_each_pair(const Rows& x, const Rows& y, const std::int64_t* pairs, std::size_t n_pairs, double* out,
                   int n_threads, StopToken& stop_token, Kernel kernel_of) {
  const auto there = [](std::int64_t row, std::size_t n) { return row >= 0 && static_cast<std::size_t>(row) < n; };
  for (std::size_t i = 0; i < n_pairs; ++i) {
    if (!there(pairs[2 * i], x.n_rows) || !there(pairs[2 * i + 1], y.n_rows)) {
      throw std::invalid_argument("a pair names a row that is not there");
    }
  }
  constexpr std::size_t kPairs = 64;
  for_each_block(blocks_of(n_pairs, kPairs), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      for (std::size_t i = block * kPairs; i < std::min((block + 1) * kPairs, n_pairs); ++i) {
        const std::size_t a = static_cast<std::size_t>(pairs[2 * i]), b = static_cast<std::size_t>(pairs[2 * i + 1]);
        out[i] = kernel_of(a, b, scale_of(x, y, a, b));
      }
    };
  });
}

template <class Rows>
void check_start(const Rows& rows, std::size_t row) {
  const auto begin = rows.start[row], end = rows.start[row + 1];
  if (begin < 0 || end < begin || static_cast<std::size_t>(end) > rows.n_stored) {
    throw std::invalid_argument("index pointers must never fall and end within the data");
  }
}

}  // namespace

template <class Number>
void kernel_of_pairs(const ScaledDenseRows<Number>& x, const ScaledDenseRows<Number>& y, const std::int64_t* pairs,
                     std::size_t n_pairs, double* out, int n_threads, StopToken& stop_token) {
  const KernelFunctions& functions = chosen_instruction_set().kernels;
  for_each_pair(x, y, pairs, n_pairs, out, n_threads, stop_token, [&](std::size_t a, std::size_t b, double scale) {
    const Number *row_a = x.values + a * x.n_columns, *row_b = y.values + b * y.n_columns;
    double sums[3];
    if constexpr (std::is_same_v<Number, float>) {
      functions.pair_sums_f32(row_a, row_b, x.n_columns, scale, sums);
    } else {
      functions.pair_sums_f64(row_a, row_b, x.n_columns, scale, sums);
    }
    return kernel(sums[0], sums[1], sums[2]);
  });
}

template <class Number, class Index>
void kernel_of_pairs(const ScaledCsrRows<Number, Index>& x, const ScaledCsrRows<Number, Index>& y,
                     const std::int64_t* pairs, std::size_t n_pairs, double* out, int n_threads,
                     StopToken& stop_token) {
  for_each_pair(x, y, pairs, n_pairs, out, n_threads, stop_token, [&](std::size_t a, std::size_t b, double scale) {
    check_start(x, a);
    check_start(y, b);
    Index i = x.start[a], j = y.start[b];
    const Index end_a = x.start[a + 1], end_b = y.start[b + 1];
    double minima = 0.0, sum_a = 0.0, sum_b = 0.0;
    for (Index e = i; e < end_a; ++e) sum_a += std::fabs(static_cast<double>(x.values[e]));
    for (Index e = j; e < end_b; ++e) sum_b += scale * std::fabs(static_cast<double>(y.values[e]));
    while (i < end_a && j < end_b) {
      const Index column_a = x.columns[i], column_b = y.columns[j];
      if (column_a == column_b) {
        const double u = static_cast<double>(x.values[i]), v = static_cast<double>(y.values[j]);
        if ((u < 0.0) == (v < 0.0)) minima += std::min(std::fabs(u), scale * std::fabs(v));
      }
      i += column_a <= column_b;
      j += column_b <= column_a;
    }
    return kernel(minima, sum_a, sum_b);
  });
}

#define GCWSNET_FOR_DENSE(Number)                                                                                    \
  template void kernel_of_pairs(const ScaledDenseRows<Number>&, const ScaledDenseRows<Number>&, const std::int64_t*, \
                                std::size_t, double*, int, StopToken&);
#define GCWSNET_FOR_CSR(Number, Index)                                                                    \
  template void kernel_of_pairs(const ScaledCsrRows<Number, Index>&, const ScaledCsrRows<Number, Index>&, \
                                const std::int64_t*, std::size_t, double*, int, StopToken&);
GCWSNET_FOR_DENSE(float)
GCWSNET_FOR_DENSE(double)
GCWSNET_FOR_CSR(float, std::int32_t)
GCWSNET_FOR_CSR(float, std::int64_t)
GCWSNET_FOR_CSR(double, std::int32_t)
GCWSNET_FOR_CSR(double, std::int64_t)
#undef GCWSNET_FOR_DENSE
#undef GCWSNET_FOR_CSR

}  // namespace gcwsnet
