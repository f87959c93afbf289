#include "kernels/ridge.hpp"

#include <algorithm>
#include <cmath>

#include "base/aligned.hpp"
#include "dispatch.hpp"
#include "kernels/functions.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kPivots = 16;  // that are eliminated together, so that each row is fetched less often

}  // namespace

bool solve_ridge(const RidgeProblem& problem, double* diagonal, double* solved, StopToken& stop_token) {
  const DefaultFloatEnvironment environment;
  const auto subtract_multiples = chosen_instruction_set().kernels.subtract_multiples;
  const std::size_t n = problem.n, m = problem.n_targets, width = n + m;
  const std::size_t stride = (width + 7) / 8 * 8 + 8;  // seldom a power of two
  const Aligned<double> work = aligned<double>(n * stride), pivots = aligned<double>(n);
  const auto row_at = [&](std::size_t i) { return work.get() + i * stride; };
  for (std::size_t i = 0; i < n; ++i) {  // A above its diagonal, and the targets
    double* row = row_at(i);
    std::fill_n(row, i, 0.0);
    std::copy_n(problem.kernel + i * n + i, n - i, row + i);
    row[i] += problem.penalty[i];
    std::copy_n(problem.targets + i * m, m, row + n);
  }
  for (std::size_t first = 0; first < n; first += kPivots) {
    stop_token.poll();
    const std::size_t n_pivots = std::min(kPivots, n - first);
    double z[kPivots][kPivots] = {}, factors[kPivots];
    for (std::size_t r = 0; r < n_pivots; ++r) {  // the rows of the pivots, which are then done
      double* row = row_at(first + r);
      for (std::size_t q = 0; q < r; ++q) factors[q] = row_at(first + q)[first + r] / pivots[first + q];
      subtract_multiples(row_at(first), stride, factors, r, first, row);
      subtract_multiples(row_at(first) + first + r, stride, factors, r, width - first - r, row + first + r);
      z[r][r] = 1.0;
      for (std::size_t q = 0; q < r; ++q) {
        for (std::size_t c = 0; c <= q; ++c) z[r][c] -= factors[q] * z[q][c];
      }
      pivots[first + r] = row[first + r];
      if (!(pivots[first + r] > 0.0) || !std::isfinite(pivots[first + r])) return false;
    }
    for (std::size_t r = 0; r < n_pivots; ++r) std::copy_n(z[r], n_pivots, row_at(first + r) + first);
    const std::size_t end = first + n_pivots;
    for (std::size_t i = end; i < n; ++i) {
      double* row = row_at(i);
      for (std::size_t q = 0; q < n_pivots; ++q) factors[q] = row_at(first + q)[i] / pivots[first + q];
      subtract_multiples(row_at(first), stride, factors, n_pivots, end, row);
      subtract_multiples(row_at(first) + i, stride, factors, n_pivots, width - i, row + i);
    }
  }
  std::fill_n(diagonal, n, 0.0);
  std::fill_n(solved, n * m, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const double* z = row_at(k);
    const double of_pivot = 1.0 / pivots[k];
    for (std::size_t i = 0; i <= k; ++i) diagonal[i] += z[i] * z[i] * of_pivot;
    for (std::size_t t = 0; t < m; ++t) {
      const double share = z[n + t] * of_pivot;
      double* of_target = solved + t * n;
      for (std::size_t i = 0; i <= k; ++i) of_target[i] += z[i] * share;
    }
  }
  return true;
}

}  // namespace gcwsnet
