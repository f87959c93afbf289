// The functions of the kernels that are compiled once per instruction set.
#pragma once

#include <cstddef>

namespace gcwsnet {

struct KernelFunctions {
  // minima.simd.hpp: a tile of pairs of rows of any sign, or without negative entries
  void (*minima_signed)(const double* const* a, int n_a, const double* const* b, int n_b, const double (*factor)[4],
                        std::size_t n, double (*sums)[4]);
  void (*minima_positive)(const double* const* a, int n_a, const double* const* b, int n_b, const double (*factor)[4],
                          std::size_t n, double (*sums)[4]);
  // pair_sums.simd.hpp
  void (*pair_sums_f32)(const float* a, const float* b, std::size_t n, double factor, double* sums);
  void (*pair_sums_f64)(const double* a, const double* b, std::size_t n, double factor, double* sums);
  // elimination.simd.hpp
  void (*subtract_multiples)(const double* rows, std::size_t stride, const double* factors, std::size_t n_rows,
                             std::size_t width, double* row);
  // signs.simd.hpp
  double (*signed_sum)(const double* weights, const double* numbers, double at, std::size_t n);
};

}  // namespace gcwsnet
