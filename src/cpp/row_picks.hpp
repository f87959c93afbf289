// The plain structures of the hashed first layer that the code of an instruction set takes. No functions: see simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

// A row that is picked out of a matrix, and the sign it is added with: twice the row's number, plus one for minus.
using RowPick = std::uint32_t;
inline constexpr std::size_t kMostPickedRows = std::size_t{1} << 31;

// Adam, as factors: mean += (g - mean) new_mean, square += (g^2 - square) new_square,
// weight = weight decay - rate mean / (sqrt(square) + epsilon).
struct AdamStep {
  float rate, new_mean, new_square, epsilon, decay;
};

}  // namespace gcwsnet
