// 64-bit keys of what is read: of texts, to choose a column for them, and of rows, to choose a side of a split.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/keys.hpp"

namespace gcwsnet {

inline constexpr std::uint64_t kFnvPrime = 0x100000001b3;

// FNV-1a, from the state that the bytes before have left.
inline std::uint64_t fnv1a(std::uint64_t state, const char* bytes, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) state = (state ^ static_cast<unsigned char>(bytes[i])) * kFnvPrime;
  return state;
}

// Of one entry of a row. Zero has no key: it is not there. All NaN are one.
inline std::uint64_t entry_key(std::uint64_t state, std::uint64_t column, double value) {
  if (value == 0.0) return 0;
  std::uint64_t bits = 0x7ff8000000000000;
  if (!std::isnan(value)) std::memcpy(&bits, &value, sizeof bits);
  return mix64(mix64(state + (column + 1) * kGolden) ^ bits);
}

// Entries are added up, so that their order does not matter.
template <class Number>
void dense_row_keys(const Number* rows, std::size_t n_rows, std::size_t n_columns, std::uint64_t state,
                    std::uint64_t* keys) {
  for (std::size_t row = 0; row < n_rows; ++row) {
    std::uint64_t sum = 0;
    for (std::size_t column = 0; column < n_columns; ++column) {
      sum += entry_key(state, column, static_cast<double>(rows[row * n_columns + column]));
    }
    keys[row] = mix64(sum + state);
  }
}

// The index pointer must rise from 0 to at most as many entries as there are, and the columns must not be negative.
template <class Number, class Index>
void csr_row_keys(const Number* values, const Index* columns, const Index* ends, std::size_t n_rows,
                  std::uint64_t state, std::uint64_t* keys) {
  for (std::size_t row = 0; row < n_rows; ++row) {
    std::uint64_t sum = 0;
    for (Index i = ends[row]; i < ends[row + 1]; ++i) {
      sum += entry_key(state, static_cast<std::uint64_t>(columns[i]), static_cast<double>(values[i]));
    }
    keys[row] = mix64(sum + state);
  }
}

}  // namespace gcwsnet
