#pragma once

#include <cstdint>

namespace gcwsnet {

// The two halves of a 64-bit key, see keys.hpp. Code of an instruction set works on halves.
struct Key {
  std::uint32_t low, high;
};

}  // namespace gcwsnet
