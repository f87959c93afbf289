// The hashed first layer: a table of rows of weights, of which each code of a sample picks one. The output is their sum.
//
// Code c of hash j has position 2^b j + c. That is its row, or, with a count-sketch, the position's bin is, and the pick
// carries the position's sign.
//
// Each sum belongs to one thread and has one order, so the number of threads does not change a bit.
#pragma once

#include "base/instruction_set.hpp"
#include "base/keys.hpp"

namespace gcwsnet {

// Which row of the table a code picks, and with which sign.
class RowOfCode {
 public:
  RowOfCode(std::size_t n_hashes, int bits, std::size_t n_rows, bool sketched, std::uint64_t seed)
      : n_hashes_(n_hashes), bits_(bits), n_rows_(n_rows), sketched_(sketched), keys_(seed, KeyStream::Purpose::kSketch) {}

  RowPick operator()(std::size_t hash, std::uint64_t code) const {
    const std::uint64_t position = (static_cast<std::uint64_t>(hash) << bits_) + code;
    if (!sketched_) return static_cast<RowPick>(position << 1);
    const Key key = halves(keys_(position));
    return static_cast<RowPick>(((key.high * static_cast<std::uint64_t>(n_rows_)) >> 32 << 1) | (key.low & 1));
  }
  std::size_t n_hashes() const { return n_hashes_; }
  std::size_t n_rows() const { return n_rows_; }
  int bits() const { return bits_; }
  bool has_signs() const { return sketched_; }

 private:
  std::size_t n_hashes_;
  int bits_;
  std::size_t n_rows_;
  bool sketched_;
  KeyStream keys_;
};

// Codes of a batch, [n_samples][n_hashes].
template <class Code>
struct CodeMatrix {
  const Code* codes;
  std::size_t n_samples, n_hashes;
};

// Throws std::invalid_argument that names the first code that is not from 0 to 2^bits - 1.
template <class Code>
void check_codes(const CodeMatrix<Code>& codes, int bits);

// out[sample] = bias + the rows that the sample's codes pick, [n_samples][width]. The codes have been checked.
template <class Code>
void sum_of_picks(const RowOfCode& rows, const CodeMatrix<Code>& codes, const float* table, const float* bias,
                  std::size_t width, float* out, int n_threads);

}  // namespace gcwsnet
