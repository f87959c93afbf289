// The function of the search that is compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

struct SearchFunctions {
  // equal_codes.simd.hpp
  void (*equal_codes)(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes, int code_bits,
                      std::uint32_t* counts);
};

}  // namespace gcwsnet
