// The plain structure of dense rows that the code of an instruction set takes. No functions: see simd.hpp.
#pragma once

#include <cstddef>

namespace gcwsnet {

struct MatrixRows {
  const float* rows;
  std::size_t n, stride;
};

}  // namespace gcwsnet
