// Bands of codes, and their buckets as sorted arrays.
//
// Band j of a row is its codes j * width ... (j + 1) * width - 1. Two rows are in one bucket of a band if their codes there
// agree. The buckets of a band are the rows sorted by a 32-bit key of these codes, and by number where keys are equal: one
// array of keys and one of rows, whatever order the work was done in.
#pragma once

#include "base/parallel.hpp"
#include <utility>

#include "base/types.hpp"

namespace gcwsnet {

// Codes of n_rows rows, one row after the other; a code has 1, 2 or 4 bytes.
struct CodeRows {
  const unsigned char* codes;
  std::size_t n_rows, n_hashes;
  int code_bytes;

  std::size_t row_bytes() const { return n_hashes * static_cast<std::size_t>(code_bytes); }
  const unsigned char* row(std::size_t i) const { return codes + i * row_bytes(); }
};

// [n_bands][n_rows], sorted within each band.
struct Buckets {
  const std::uint32_t* keys;
  const std::uint32_t* rows;
  std::size_t n_bands, n_rows, width;
};

// The key of one band of a row of codes.
std::uint32_t band_key(const unsigned char* row, int code_bytes, std::size_t band, std::size_t width);

void build_buckets(const CodeRows& codes, std::size_t n_bands, std::size_t width, std::uint32_t* keys, std::uint32_t* rows,
                   int n_threads, StopSign& stop_sign);

// The buckets of the rows of `a` followed by those of `b`, whose numbers grow by the rows of `a`: what build_buckets gives for
// all of them.
void merge_buckets(const Buckets& a, const Buckets& b, std::uint32_t* keys, std::uint32_t* rows, int n_threads,
                   StopSign& stop_sign);

// Keys that are equal to `key` are those from the first of the pair to before the second.
std::pair<std::size_t, std::size_t> bucket_of(const std::uint32_t* keys, std::size_t n, std::uint32_t key);

}  // namespace gcwsnet
