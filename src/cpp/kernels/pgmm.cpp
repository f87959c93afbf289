#include "kernels/pgmm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "dispatch.hpp"
#include "kernels/functions.hpp"

namespace gcwsnet {

namespace {

// What a number on the scale of y is multiplied with to be on the scale of x. Beyond 2^900 the kernel is zero anyway.
double factor(double log2_scale_x, double log2_scale_y) {
  const double difference = std::clamp(log2_scale_y - log2_scale_x, -900.0, 900.0);
  const auto whole = static_cast<std::int64_t>(difference);  // as it is for nearly all p: a power of two
  if (static_cast<double>(whole) == difference) return std::bit_cast<double>((1023 + whole) << 52);
  return std::exp2(difference);
}

// Two rows without entries are equal: their kernel is 1.
double kernel(double minima, double sum_x, double sum_y) {
  const double maxima = sum_x + sum_y - minima;
  return maxima > 0.0 ? std::min(minima / maxima, 1.0) : 1.0;
}

constexpr int kTileX = 2;
constexpr int kTileY = 4;
constexpr std::size_t kChunk = 1024;  // columns at a time, so that a few rows of them stay in the first cache

// Sums of minima of a few rows, chunk by chunk: always in the same order, so that a row's sum and its sum of minima
// with itself are the same number.
template <class Minima>
void sum_minima(Minima minima, const double* const* a, int n_a, const double* const* b, int n_b,
                const double (*factors)[kTileY], std::size_t first, std::size_t n, double (*sums)[kTileY]) {
  const double* a_here[kTileX];
  const double* b_here[kTileY];
  for (int x = 0; x < n_a; ++x) a_here[x] = a[x] + first;
  for (int y = 0; y < n_b; ++y) b_here[y] = b[y] + first;
  minima(a_here, n_a, b_here, n_b, factors, n, sums);
}

template <class Minima>
std::vector<double> row_sums(Minima minima, const PoweredRows& rows) {
  std::vector<double> sums(rows.n_rows);
  const double one[1][kTileY] = {{1.0}};
  for (std::size_t r = 0; r < rows.n_rows; ++r) {
    const double* row = rows.values + r * rows.n_columns;
    double sum[kTileX][kTileY] = {};
    for (std::size_t first = 0; first < rows.n_columns; first += kChunk) {
      sum_minima(minima, &row, 1, &row, 1, one, first, std::min(kChunk, rows.n_columns - first), sum);
    }
    sums[r] = sum[0][0];
  }
  return sums;
}

}  // namespace

void pgmm_dense(const PoweredRows& x, const PoweredRows& y, bool has_negative, double* out, std::ptrdiff_t out_stride,
                int n_threads, StopToken& stop_token) {
  const DefaultFloatEnvironment environment;
  const KernelFunctions& functions = chosen_instruction_set().kernels;
  const auto minima = has_negative ? functions.minima_signed : functions.minima_positive;
  const std::vector<double> sums_x = row_sums(minima, x);
  const std::vector<double> sums_y = row_sums(minima, y);
  constexpr std::size_t kRowsX = 32;
  for_each_block(blocks_of(x.n_rows, kRowsX), n_threads, stop_token, [&] {
    struct Tile {
      double factors[kTileX][kTileY], sums[kTileX][kTileY];
    };
    return [&, tiles = std::vector<Tile>(kRowsX / kTileX)](std::size_t block) mutable {
      const std::size_t x0 = block * kRowsX;
      const std::size_t x1 = std::min(x0 + kRowsX, x.n_rows);
      const auto row_pointers = [](const PoweredRows& rows, std::size_t from, int n, const double** pointers) {
        for (int i = 0; i < n; ++i) pointers[i] = rows.values + (from + static_cast<std::size_t>(i)) * rows.n_columns;
      };
      for (std::size_t y0 = 0; y0 < y.n_rows; y0 += kTileY) {
        stop_token.poll();
        const int n_b = static_cast<int>(std::min<std::size_t>(kTileY, y.n_rows - y0));
        const double* b[kTileY];
        row_pointers(y, y0, n_b, b);
        for (std::size_t from = x0; from < x1; from += kTileX) {
          Tile& tile = tiles[(from - x0) / kTileX] = Tile{};
          for (std::size_t i = from; i < std::min(from + kTileX, x1); ++i) {
            for (int j = 0; j < n_b; ++j) {
              tile.factors[i - from][j] = factor(x.log2_scale[i], y.log2_scale[y0 + static_cast<std::size_t>(j)]);
            }
          }
        }
        for (std::size_t first = 0; first < x.n_columns; first += kChunk) {
          for (std::size_t from = x0; from < x1; from += kTileX) {
            const int n_a = static_cast<int>(std::min<std::size_t>(kTileX, x1 - from));
            const double* a[kTileX];
            row_pointers(x, from, n_a, a);
            Tile& tile = tiles[(from - x0) / kTileX];
            sum_minima(minima, a, n_a, b, n_b, tile.factors, first, std::min(kChunk, x.n_columns - first), tile.sums);
          }
        }
        for (std::size_t i = x0; i < x1; ++i) {
          const Tile& tile = tiles[(i - x0) / kTileX];
          const std::size_t row = (i - x0) % kTileX;
          for (int j = 0; j < n_b; ++j) {
            const std::size_t column = y0 + static_cast<std::size_t>(j);
            out[static_cast<std::ptrdiff_t>(i) * out_stride + static_cast<std::ptrdiff_t>(column)] =
                kernel(tile.sums[row][j], sums_x[i], tile.factors[row][j] * sums_y[column]);
          }
        }
      }
    };
  });
}

void sum_signs(const double* weights, const double* columns, std::size_t n, std::size_t n_columns, double* out,
               int n_threads, StopToken& stop_token) {
  const auto signed_sum = chosen_instruction_set().kernels.signed_sum;
  constexpr std::size_t kRows = 16;
  for_each_block(blocks_of(n, kRows), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      for (std::size_t a = block * kRows; a < std::min((block + 1) * kRows, n); ++a) {
        stop_token.poll();
        for (std::size_t j = 0; j < n_columns; ++j) {
          const double* column = columns + j * n;
          out[a * n_columns + j] = signed_sum(weights + a * n, column, column[a], n);
        }
      }
    };
  });
}

namespace {

void check_starts(const std::int64_t* start, std::size_t n, std::size_t n_stored) {
  bool fine = start[0] == 0 && static_cast<std::size_t>(start[n]) <= n_stored;
  for (std::size_t i = 0; fine && i < n; ++i) fine = start[i] <= start[i + 1];
  if (!fine) throw std::invalid_argument("index pointers must start at 0, never fall and end within the data");
}

void check_below(const std::int64_t* index, std::size_t n, std::size_t end) {
  const bool fine =
      std::all_of(index, index + n, [end](std::int64_t i) { return i >= 0 && static_cast<std::size_t>(i) < end; });
  if (!fine) throw std::invalid_argument("an index of the sparse matrix is out of range");
}

}  // namespace

void pgmm_sparse(const PoweredColumns& x, const PoweredCsr& y, double* out, std::ptrdiff_t out_stride, int n_threads,
                 StopToken& stop_token) {
  check_starts(x.start, x.n_columns, x.n_stored);
  check_starts(y.start, y.n_rows, y.n_stored);
  check_below(x.row, x.n_stored, x.n_rows);
  check_below(y.column, y.n_stored, x.n_columns);
  constexpr std::size_t kRowsY = 16;
  for_each_block(blocks_of(y.n_rows, kRowsY), n_threads, stop_token, [&] {
    struct Buffers {
      std::vector<double> minima, factors;
    };
    return [&, b = Buffers{std::vector<double>(x.n_rows), std::vector<double>(x.n_rows)}](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * kRowsY, y.n_rows);
      for (std::size_t j = block * kRowsY; j < end; ++j) {
        stop_token.poll();
        std::fill(b.minima.begin(), b.minima.end(), 0.0);
        for (std::size_t i = 0; i < x.n_rows; ++i) b.factors[i] = factor(x.log2_scale[i], y.log2_scale[j]);
        for (std::int64_t e = y.start[j]; e < y.start[j + 1]; ++e) {
          const double value = y.value[e];
          for (std::int64_t at = x.start[y.column[e]]; at < x.start[y.column[e] + 1]; ++at) {
            const std::size_t i = static_cast<std::size_t>(x.row[at]);
            b.minima[i] += std::min(x.value[at], b.factors[i] * value);
          }
        }
        for (std::size_t i = 0; i < x.n_rows; ++i) {
          out[static_cast<std::ptrdiff_t>(i) * out_stride + static_cast<std::ptrdiff_t>(j)] =
              kernel(b.minima[i], x.sum[i], b.factors[i] * y.sum[j]);
        }
      }
    };
  });
}

}  // namespace gcwsnet
