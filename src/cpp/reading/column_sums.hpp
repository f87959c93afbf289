// Sums over the rows of a matrix, column by column, for means and standard deviations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

// A matrix of float or double, whose strides are counted in numbers.
template <class Number>
struct Columns {
  const Number* numbers;
  std::size_t n_rows, n_columns;
  std::ptrdiff_t row_stride, column_stride;
};

// sum[j] = sum of x 2^-exponent[j] over the numbers x of column j, count[j] how many they are. NaN are none. Numbers
// are added in the order of the rows, however they lie in memory.
template <class Number>
void column_sums(const Columns<Number>& x, const std::int32_t* exponent, double* sum, std::int64_t* count);

// square[j] = sum of (x 2^-exponent[j] - center[j])^2
template <class Number>
void column_squares(const Columns<Number>& x, const std::int32_t* exponent, const double* center, double* square);

}  // namespace gcwsnet
