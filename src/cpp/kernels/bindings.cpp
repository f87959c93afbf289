#include "base/bindings.hpp"

#include <nanobind/stl/optional.h>

#include "kernels/pairs.hpp"
#include "kernels/pgmm.hpp"
#include "kernels/ridge.hpp"

namespace gcwsnet {

namespace {

PoweredRows powered_rows(const Matrix& values, const Vector& log2_scale) {
  require(values.dtype() == nb::dtype<double>(), "rows must be float64");
  require(values.shape(1) % kPowered == 0, "rows must be filled up to a multiple of 8 columns");
  require(
      values.size() == 0 || (values.stride(1) == 1 && values.stride(0) == static_cast<std::int64_t>(values.shape(1))),
      "rows must be contiguous");
  return {static_cast<const double*>(values.data()),
          contiguous<const double>(log2_scale, values.shape(0), "there must be one float64 scale per row, contiguous"),
          values.shape(0), values.shape(1)};
}

double* kernel_block(const OutMatrix& out, std::size_t n_x, std::size_t n_y) {
  require(out.dtype() == nb::dtype<double>() && out.shape(0) == n_x && out.shape(1) == n_y &&
              (n_y <= 1 || out.stride(1) == 1),
          "out must be float64, rows of X x rows of Y");
  return static_cast<double*>(out.data());
}

constexpr const char* kPairsRule = "pairs must be int64, two numbers for each, and out one float64 for each";
using Scales = std::optional<Vector>;

const double* scales_of(const Scales& scales, std::size_t n_rows) {
  return scales ? contiguous<const double>(*scales, n_rows, "there must be one float64 scale per row") : nullptr;
}

template <class Number>
ScaledDenseRows<Number> dense_rows(const Matrix& values, const Scales& scales) {
  return {contiguous<const Number>(values, values.shape(0), values.shape(1), "rows must be of one type and contiguous"),
          values.shape(0), values.shape(1), scales_of(scales, values.shape(0))};
}

template <class Number, class Index>
ScaledCsrRows<Number, Index> csr_rows(const Vector& values, const Vector& columns, const Vector& start,
                                      const Scales& scales) {
  const char* rule = "both matrices must have one type of values, and one of columns and index pointers";
  require(start.shape(0) >= 1, "index pointers must not be empty");
  const std::size_t n = start.shape(0) - 1, stored = values.shape(0);
  return {contiguous<const Number>(values, stored, rule),
          contiguous<const Index>(columns, stored, rule),
          contiguous<const Index>(start, n + 1, rule),
          n,
          stored,
          scales_of(scales, n)};
}

template <class Rows>
void write_kernel_of_pairs(const Rows& x, const Rows& y, const Matrix& pairs, const OutArray& out, int n_threads) {
  const std::size_t n = pairs.shape(0);
  const auto* chosen = contiguous<const std::int64_t>(pairs, n, 2, kPairsRule);
  double* to = contiguous<double>(out, n, kPairsRule);
  require((x.log2_scale == nullptr) == (y.log2_scale == nullptr), "both matrices must have scales, or none");
  without_gil([&](StopToken& stop_token) { kernel_of_pairs(x, y, chosen, n, to, n_threads, stop_token); });
}

}  // namespace

void bind_kernels(nb::module_& m) {
  m.def(
      "pgmm_dense",
      [](const Matrix& x, const Vector& x_scale, const Matrix& y, const Vector& y_scale, bool has_negative,
         const OutMatrix& out, int n_threads) {
        const PoweredRows rows_x = powered_rows(x, x_scale);
        const PoweredRows rows_y = powered_rows(y, y_scale);
        require(rows_x.n_columns == rows_y.n_columns, "both matrices must have as many columns");
        double* to = kernel_block(out, rows_x.n_rows, rows_y.n_rows);
        without_gil([&](StopToken& stop_token) {
          pgmm_dense(rows_x, rows_y, has_negative, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads,
                     stop_token);
        });
      },
      "x"_a, "x_scale"_a, "y"_a, "y_scale"_a, "has_negative"_a, "out"_a.noconvert(), "n_threads"_a,
      "Write the pGMM kernel of two blocks of powered rows, any sign.");
  m.def(
      "pgmm_sparse",
      [](const Vector& x_start, const Vector& x_row, const Vector& x_value, const Vector& x_scale, const Vector& x_sum,
         const Vector& y_start, const Vector& y_column, const Vector& y_value, const Vector& y_scale,
         const Vector& y_sum, const OutMatrix& out, int n_threads) {
        require(x_start.shape(0) >= 1 && y_start.shape(0) >= 1, "index pointers must not be empty");
        const std::size_t n_x = x_scale.shape(0), n_columns = x_start.shape(0) - 1, x_stored = x_value.shape(0);
        const std::size_t n_y = y_start.shape(0) - 1, y_stored = y_value.shape(0);
        const char* rule = "arrays of one sparse matrix must be contiguous int64 and float64, as long as each other";
        const PoweredColumns columns{contiguous<const std::int64_t>(x_start, n_columns + 1, rule),
                                     contiguous<const std::int64_t>(x_row, x_stored, rule),
                                     contiguous<const double>(x_value, x_stored, rule),
                                     contiguous<const double>(x_scale, n_x, rule),
                                     contiguous<const double>(x_sum, n_x, rule),
                                     n_x,
                                     n_columns,
                                     x_stored};
        const PoweredCsr rows{contiguous<const std::int64_t>(y_start, n_y + 1, rule),
                              contiguous<const std::int64_t>(y_column, y_stored, rule),
                              contiguous<const double>(y_value, y_stored, rule),
                              contiguous<const double>(y_scale, n_y, rule),
                              contiguous<const double>(y_sum, n_y, rule),
                              n_y,
                              y_stored};
        double* to = kernel_block(out, n_x, n_y);
        without_gil([&](StopToken& stop_token) {
          pgmm_sparse(columns, rows, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads, stop_token);
        });
      },
      "x_start"_a, "x_row"_a, "x_value"_a, "x_scale"_a, "x_sum"_a, "y_start"_a, "y_column"_a, "y_value"_a, "y_scale"_a,
      "y_sum"_a, "out"_a.noconvert(), "n_threads"_a,
      "Write the pGMM kernel of powered non-negative rows: the first matrix by columns, the second by rows.");
  m.def(
      "pairs_of_dense",
      [](const Matrix& x, const Scales& x_scale, const Matrix& y, const Scales& y_scale, const Matrix& pairs,
         const OutArray& out, int n_threads) {
        require(x.shape(1) == y.shape(1), "both matrices must have as many columns");
        with_number_type(x.dtype(), [&](auto number) {
          using Number = decltype(number);
          write_kernel_of_pairs(dense_rows<Number>(x, x_scale), dense_rows<Number>(y, y_scale), pairs, out, n_threads);
        });
      },
      "x"_a.noconvert(), "x_scale"_a.none(), "y"_a.noconvert(), "y_scale"_a.none(), "pairs"_a.noconvert(),
      "out"_a.noconvert(), "n_threads"_a,
      "Write the kernel of pairs of rows of any sign, each on its scale or all on one.");
  m.def(
      "pairs_of_csr",
      [](const Vector& x_values, const Vector& x_columns, const Vector& x_start, const Scales& x_scale,
         const Vector& y_values, const Vector& y_columns, const Vector& y_start, const Scales& y_scale,
         const Matrix& pairs, const OutArray& out, int n_threads) {
        with_number_type(x_values.dtype(), [&](auto number) {
          with_index_type(x_columns.dtype(), [&](auto index) {
            using Number = decltype(number);
            using Index = decltype(index);
            write_kernel_of_pairs(csr_rows<Number, Index>(x_values, x_columns, x_start, x_scale),
                                  csr_rows<Number, Index>(y_values, y_columns, y_start, y_scale), pairs, out,
                                  n_threads);
          });
        });
      },
      "x_values"_a.noconvert(), "x_columns"_a.noconvert(), "x_start"_a.noconvert(), "x_scale"_a.none(),
      "y_values"_a.noconvert(), "y_columns"_a.noconvert(), "y_start"_a.noconvert(), "y_scale"_a.none(),
      "pairs"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a,
      "Write the kernel of pairs of rows of any sign, whose columns ascend.");
  m.def(
      "sum_signs",
      [](const Matrix& weights, const Matrix& columns, const OutMatrix& out, int n_threads) {
        const std::size_t n = weights.shape(0), n_columns = columns.shape(0);
        const auto* of_pairs = contiguous<const double>(weights, n, n, "weights must be float64, square, contiguous");
        const auto* numbers =
            contiguous<const double>(columns, n_columns, n, "columns must be float64, columns x rows");
        double* to = contiguous<double>(out, n, n_columns, "out must be float64, rows x columns");
        without_gil(
            [&](StopToken& stop_token) { sum_signs(of_pairs, numbers, n, n_columns, to, n_threads, stop_token); });
      },
      "weights"_a.noconvert(), "columns"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a,
      "Write, for each row and column, the sum of the row's weights times the signs of its differences to all rows.");
  m.def(
      "solve_ridge",
      [](const Matrix& kernel, const Vector& penalty, const Matrix& targets, const OutArray& diagonal,
         const OutArray& solved) {
        const std::size_t n = kernel.shape(0), n_targets = targets.shape(1);
        const RidgeProblem problem{
            contiguous<const double>(kernel, n, n, "the kernel must be float64, square, contiguous"),
            contiguous<const double>(penalty, n, "there must be one float64 penalty per row"),
            contiguous<const double>(targets, n, n_targets, "there must be targets for each row"), n, n_targets};
        double* of_diagonal = contiguous<double>(diagonal, n, "diagonal must be float64, one number per row");
        double* of_solved = contiguous<double>(solved, n_targets * n, "solved must be float64, targets x rows");
        bool is_definite = false;
        without_gil(
            [&](StopToken& stop_token) { is_definite = solve_ridge(problem, of_diagonal, of_solved, stop_token); });
        return is_definite;
      },
      "kernel"_a.noconvert(), "penalty"_a.noconvert(), "targets"_a.noconvert(), "diagonal"_a.noconvert(),
      "solved"_a.noconvert(),
      "Write the diagonal of (K + penalty)^-1, and its product with the targets; return whether it is positive "
      "definite.");
}

}  // namespace gcwsnet
