#include "base/bindings.hpp"
#include "kernels/pgmm.hpp"

namespace gcwsnet {

namespace {

PoweredRows powered_rows(const Matrix& values, const Vector& log2_scale) {
  require(values.dtype() == nb::dtype<double>(), "rows must be float64");
  require(values.shape(1) % kPowered == 0, "rows must be filled up to a multiple of 8 columns");
  require(values.size() == 0 || (values.stride(1) == 1 && values.stride(0) == static_cast<std::int64_t>(values.shape(1))),
          "rows must be contiguous");
  return {static_cast<const double*>(values.data()),
          contiguous<const double>(log2_scale, values.shape(0), "there must be one float64 scale per row, contiguous"),
          values.shape(0), values.shape(1)};
}

double* kernel_block(const OutMatrix& out, std::size_t n_x, std::size_t n_y) {
  require(out.dtype() == nb::dtype<double>() && out.shape(0) == n_x && out.shape(1) == n_y && (n_y <= 1 || out.stride(1) == 1),
          "out must be float64, rows of X x rows of Y");
  return static_cast<double*>(out.data());
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
        without_gil([&](StopSign& stop_sign) {
          pgmm_dense(rows_x, rows_y, has_negative, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads, stop_sign);
        });
      },
      "x"_a, "x_scale"_a, "y"_a, "y_scale"_a, "has_negative"_a, "out"_a.noconvert(), "n_threads"_a,
      "Write the pGMM kernel of two blocks of powered rows, any sign.");
  m.def(
      "pgmm_sparse",
      [](const Vector& x_start, const Vector& x_row, const Vector& x_value, const Vector& x_scale, const Vector& x_sum,
         const Vector& y_start, const Vector& y_column, const Vector& y_value, const Vector& y_scale, const Vector& y_sum,
         const OutMatrix& out, int n_threads) {
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
        without_gil([&](StopSign& stop_sign) {
          pgmm_sparse(columns, rows, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads, stop_sign);
        });
      },
      "x_start"_a, "x_row"_a, "x_value"_a, "x_scale"_a, "x_sum"_a, "y_start"_a, "y_column"_a, "y_value"_a, "y_scale"_a,
      "y_sum"_a, "out"_a.noconvert(), "n_threads"_a,
      "Write the pGMM kernel of powered non-negative rows: the first matrix by columns, the second by rows.");
}

}  // namespace gcwsnet
