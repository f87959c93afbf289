// Regularised least squares with a kernel: the coefficients, and how wrong each row is where it is left out.
//
// With the kernel matrix K and penalties on its diagonal, A = K + penalty. Elimination gives unit lower triangular Z and
// pivots d with Z A Z' = d, so that A^-1 = Z' d^-1 Z: its diagonal and its product with the targets need no more. Every
// number has one order of sums, so that all instruction sets give the same bits.
#pragma once

#include <cstddef>

#include "base/parallel.hpp"

namespace gcwsnet {

struct RidgeProblem {
  const double* kernel;  // [n][n], of which what is on and above the diagonal is read
  const double* penalty;
  const double* targets;  // [n][n_targets]
  std::size_t n, n_targets;
};

// Writes the diagonal of A^-1, and A^-1 times the targets, [n_targets][n]. Returns false, and nothing of use, if A is not
// positive definite.
bool solve_ridge(const RidgeProblem& problem, double* diagonal, double* solved, StopToken& stop_token);

}  // namespace gcwsnet
