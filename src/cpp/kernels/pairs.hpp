// The kernel of single pairs of rows: sum of minima over sum of maxima.
//
// Rows are numbers of any sign. A row may be on a scale of its own, 2^-log2_scale; then pairs are brought to the scale
// of their first row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.hpp"

namespace gcwsnet {

template <class Number>
struct ScaledDenseRows {
  const Number* values;  // [n_rows][n_columns]
  std::size_t n_rows, n_columns;
  const double* log2_scale;  // nullptr: all rows are on one scale
};

template <class Number, class Index>
struct ScaledCsrRows {
  const Number* values;
  const Index* columns;  // ascending within each row
  const Index* start;
  std::size_t n_rows, n_stored;
  const double* log2_scale;
};

// out[i] is the kernel of row pairs[2 * i] of x and row pairs[2 * i + 1] of y; not finite if a sum is too large for a
// double.
template <class Number>
void kernel_of_pairs(const ScaledDenseRows<Number>& x, const ScaledDenseRows<Number>& y, const std::int64_t* pairs,
                     std::size_t n_pairs, double* out, int n_threads, StopToken& stop_token);
template <class Number, class Index>
void kernel_of_pairs(const ScaledCsrRows<Number, Index>& x, const ScaledCsrRows<Number, Index>& y,
                     const std::int64_t* pairs, std::size_t n_pairs, double* out, int n_threads, StopToken& stop_token);

}  // namespace gcwsnet
