// The plain structures of the hashed first layer that the code of an instruction set takes. No functions: see simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

// A row that is picked out of a matrix, and the sign it is added with: twice the row's number, plus one for minus.
using RowPick = std::uint32_t;
inline constexpr std::size_t kMostPickedRows = std::size_t{1} << 31;

// Some of them, added in their order.
struct Picks {
  const RowPick* picks;
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

}  // namespace gcwsnet
