// The plain structures that pass between the code of an instruction set and the rest. No functions: see simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gcwsnet {

inline constexpr int kHashBlock = 16;               // hashes are worked on sixteen at a time
inline constexpr int kTableRow = 4 * kHashBlock;    // 1/r, beta, offset and r of one feature for a block of hashes

struct Key {
  std::uint32_t low, high;
};

// The four keys of each hash of a block.
struct HashKeys {
  std::uint32_t low[4][kHashBlock], high[4][kHashBlock];
};

// The non-zero entries of one row, features ascending. `key` is only there where parameters are generated.
struct Entries {
  const std::uint32_t* feature;
  const float* L;
  const Key* key;
  std::size_t n;
};

// Where the samples of one row and one block of hashes are: the least a so far, its t and its feature i.
struct Samples {
  float* a;
  float* t;
  std::uint32_t* i;
};

struct Encoding {
  bool mixed = true;         // else the paper's low bits of i*
  bool all_of_t = true;      // mix t* in too
  int bits = 8;              // 1 to 32
  int t_bits = 0;            // bits of t* appended, 0 to 8
  std::uint32_t n_columns = 0;
};

// The i* of a row without non-zero entries. Its t* is NaN, which no other row has.
inline constexpr std::uint32_t kNoFeature = 0xffffffffu;

}  // namespace gcwsnet
