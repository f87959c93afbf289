// The pGMM kernel between powered rows: sum of minima over sum of maxima.
//
// The sum of maxima is the two rows' sums minus the sum of minima. Each powered row is scaled by a power of its own,
// 2^-log2_scale, so that no power overflows; a pair is brought to the scale of its first row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.hpp"

namespace gcwsnet {

struct PoweredRows {
  const double* values;  // [n_rows][n_columns]; n_columns is a multiple of kPowered
  const double* log2_scale;
  std::size_t n_rows, n_columns;
};
inline constexpr std::size_t kPowered = 8;

// Any sign. out[x][y] has `out_stride` numbers from row to row.
void pgmm_dense(const PoweredRows& x, const PoweredRows& y, bool has_negative, double* out, std::ptrdiff_t out_stride,
                int n_threads, StopToken& stop_token);

// Non-negative. The first matrix is held by columns: entries start[c] ... start[c + 1] are those of column c.
struct PoweredColumns {
  const std::int64_t* start;
  const std::int64_t* row;
  const double* value;
  const double* log2_scale;  // per row, as is `sum`
  const double* sum;
  std::size_t n_rows, n_columns, n_stored;
};
struct PoweredCsr {
  const std::int64_t* start;
  const std::int64_t* column;
  const double* value;
  const double* log2_scale;
  const double* sum;  // over the whole row: columns that the other matrix has not may be left out above
  std::size_t n_rows, n_stored;
};
void pgmm_sparse(const PoweredColumns& x, const PoweredCsr& y, double* out, std::ptrdiff_t out_stride, int n_threads,
                 StopToken& stop_token);

// out[a][j] = sum over b of weights[a][b] times the sign of columns[j][a] - columns[j][b]: what the sum of the weighted L1
// distances of rows changes by with an entry of row a. `weights` is [n][n], `columns` [n_columns][n], `out` [n][n_columns].
void sum_signs(const double* weights, const double* columns, std::size_t n, std::size_t n_columns, double* out,
               int n_threads, StopToken& stop_token);

}  // namespace gcwsnet
