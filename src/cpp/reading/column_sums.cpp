#include "reading/column_sums.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gcwsnet {

namespace {

constexpr int kLargestExponent = 1023;

// 2^-exponent as two factors, since numbers that are not normal need one beyond the largest double.
struct Factors {
  Factors(const std::int32_t* exponent, std::size_t n_columns) : first(n_columns), second(n_columns) {
    for (std::size_t j = 0; j < n_columns; ++j) {
      const int here = std::min(-exponent[j], kLargestExponent);
      first[j] = std::ldexp(1.0, here);
      second[j] = std::ldexp(1.0, -exponent[j] - here);
    }
  }
  std::vector<double> first, second;
};

// add(j, number, is_there) for the scaled numbers of all rows, in their order; `number` is zero for NaN.
template <class Number, class Add>
void for_each_number(const Columns<Number>& x, const std::int32_t* exponent, Add add) {
  const Factors factors(exponent, x.n_columns);
  const double *first = factors.first.data(), *second = factors.second.data();
  const auto add_number = [&](std::size_t j, Number number) {
    const bool is_there = number == number;
    add(j, is_there ? static_cast<double>(number) * first[j] * second[j] : 0.0, is_there);
  };
  for (std::size_t i = 0; i < x.n_rows; ++i) {
    const Number* row = x.numbers + static_cast<std::ptrdiff_t>(i) * x.row_stride;
    if (x.column_stride == 1) {
      for (std::size_t j = 0; j < x.n_columns; ++j) add_number(j, row[j]);
    } else {
      for (std::size_t j = 0; j < x.n_columns; ++j)
        add_number(j, row[static_cast<std::ptrdiff_t>(j) * x.column_stride]);
    }
  }
}

}  // namespace

template <class Number>
void column_sums(const Columns<Number>& x, const std::int32_t* exponent, double* __restrict sum,
                 std::int64_t* __restrict count) {
  std::fill_n(sum, x.n_columns, 0.0);
  std::fill_n(count, x.n_columns, std::int64_t{0});
  for_each_number(x, exponent, [&](std::size_t j, double number, bool is_there) {
    sum[j] += number;
    count[j] += is_there;
  });
}

template <class Number>
void column_squares(const Columns<Number>& x, const std::int32_t* exponent, const double* center,
                    double* __restrict square) {
  std::fill_n(square, x.n_columns, 0.0);
  for_each_number(x, exponent, [&](std::size_t j, double number, bool is_there) {
    const double distance = is_there ? number - center[j] : 0.0;
    square[j] += distance * distance;
  });
}

template void column_sums(const Columns<float>&, const std::int32_t*, double*, std::int64_t*);
template void column_sums(const Columns<double>&, const std::int32_t*, double*, std::int64_t*);
template void column_squares(const Columns<float>&, const std::int32_t*, const double*, double*);
template void column_squares(const Columns<double>&, const std::int32_t*, const double*, double*);

}  // namespace gcwsnet
