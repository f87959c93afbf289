// Bands of codes, and their buckets as sorted arrays.
//
// Band j of a row is its codes j * width ... (j + 1) * width - 1. Two rows are in one bucket of a band if their codes
// there agree. The buckets of a band are the rows sorted by a 32-bit key of these codes, and by number where keys are
// equal: one array of keys and one of rows, whatever order the work was done in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/parallel.hpp"

namespace gcwsnet {

// Codes of n_rows rows, one row after the other. A code has 1, 2, 4, 8, 16 or 32 bits. Several share a byte if they
// have fewer than 8: the first one has its lowest bits. A row fills whole bytes, the last one with zeros.
struct PackedCodes {
  const unsigned char* codes;
  std::size_t n_rows, n_hashes;
  int code_bits;

  std::size_t row_bytes() const { return (n_hashes * static_cast<std::size_t>(code_bits) + 7) / 8; }
  const unsigned char* row(std::size_t i) const { return codes + i * row_bytes(); }
};

// [n_bands][n_rows], sorted within each band.
struct Buckets {
  const std::uint32_t* keys;
  const std::uint32_t* rows;
  std::size_t n_bands, n_rows, width;
};

// The key of one band of a row of codes.
std::uint32_t band_key(const unsigned char* row, int code_bits, std::size_t band, std::size_t width);

void build_buckets(const PackedCodes& codes, std::size_t n_bands, std::size_t width, std::uint32_t* keys,
                   std::uint32_t* rows, int n_threads, StopToken& stop_token);

// The buckets of the rows of `a` and of those of `b`, which come behind them and whose numbers grow by `shift`. If that
// is the number of rows of `a`: what build_buckets gives for all of them. Both may be parts with the same range of
// keys.
void merge_buckets(const Buckets& a, const Buckets& b, std::uint32_t shift, std::uint32_t* keys, std::uint32_t* rows,
                   int n_threads, StopToken& stop_token);

// Keys are nearly uniform: where a key would be among n sorted ones if they were, some sqrt(n) places away.
inline std::size_t expected_place(std::uint32_t key, std::size_t n) {
  return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * n) >> 32);
}
// The same, counted from the key that is at a place near by: mostly a few places away.
inline std::size_t nearer_place(const std::uint32_t* keys, std::size_t n, std::uint32_t key, std::size_t place) {
  const std::int64_t apart = static_cast<std::int64_t>(key) - static_cast<std::int64_t>(keys[place]);
  const std::size_t step = expected_place(static_cast<std::uint32_t>(apart < 0 ? -apart : apart), n);
  if (apart < 0) return place > step ? place - step : 0;
  return n - 1 - place > step ? place + step : n - 1;
}

// Keys that are equal to `key` are those from the first of the pair to before the second. `guess` is a place near by.
std::pair<std::size_t, std::size_t> bucket_of(const std::uint32_t* keys, std::size_t n, std::uint32_t key,
                                              std::size_t guess);

}  // namespace gcwsnet
