// The functions of a net that are compiled once per instruction set, and the plain structures they take. No inline
// functions here: see base/simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

// A row of a matrix that is looked up, and the sign it is added with: twice the row's number, plus one for minus.
using Lookup = std::uint32_t;
inline constexpr std::size_t kMaxTableRows = std::size_t{1} << 31;

// Some of them, added in their order.
struct Lookups {
  const Lookup* lookups;
  std::size_t n;
  bool has_signs;
};

// Adam, as factors: mean += (g - mean) new_mean, square += (g^2 - square) new_square,
// weight = weight decay - rate mean / (sqrt(square) + epsilon).
struct AdamStep {
  float rate, new_mean, new_square, epsilon, decay;
};

// What a step of Adam changes. `mean` is null where beta1 is 0: the mean is the gradient then.
struct AdamRow {
  float *weight, *mean, *square;
};

struct MatrixRows {
  const float* rows;
  std::size_t n, stride;
};

// Rows of a scale, a float, and of weights in four bits each, see packed_rows.simd.hpp.
struct PackedRows {
  const std::uint8_t* rows;
  std::size_t n_packs;  // of sixteen weights, the last ones filled up with zeros
  std::size_t ahead;    // rows are fetched this many lookups ahead; 0 where they are near anyway
};
inline constexpr std::size_t kScaleBytes = 4, kPackBytes = 8;

struct NetFunctions {
  // table_rows.simd.hpp
  void (*add_rows)(const float* rows, std::size_t width, const Lookups& lookups, std::size_t ahead, std::size_t n_known,
                   float* sum);
  void (*adam_row)(const AdamStep& step, const float* gradient, std::size_t width, const Lookups& lookups, float* work,
                   const AdamRow& row);
  void (*prefetch_adam_row)(const AdamRow& row, std::size_t width);
  // packed_rows.simd.hpp
  void (*add_packed_rows)(const PackedRows& rows, const Lookup* lookups, std::size_t n, float* sum);
  // dense_rows.simd.hpp
  void (*inner_products)(const MatrixRows& x, const MatrixRows& y, std::size_t width, const float* bias, float* out,
                         std::size_t out_stride);
  void (*sum_of_multiples)(const MatrixRows& rows, const float* factors, std::size_t factor_stride, std::size_t width,
                           float* sum);
  void (*relu)(float* numbers, std::size_t n);
  void (*relu_backward)(const float* outputs, std::size_t n, float* gradient);
  void (*axpy)(const float* row, float factor, std::size_t n, float* sum);
  void (*update_moving_average)(const float* now, float share, std::size_t n, float* mean);
  void (*mean_of_sums)(const float* older, const float* newer, const float* now, float rows, float total, std::size_t n,
                       float* mean);
};

}  // namespace gcwsnet
