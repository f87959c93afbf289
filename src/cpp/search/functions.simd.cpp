// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "search/functions.hpp"

#include "search/equal_codes.simd.hpp"

namespace gcwsnet::GCWSNET_ISA {

extern const SearchFunctions kSearchFunctions;
const SearchFunctions kSearchFunctions = {
    .equal_codes = equal_codes,
};

}  // namespace gcwsnet::GCWSNET_ISA
