// Which rows of the table the codes of a batch look up, and the same lookups sorted by row for the backward pass: each
// row that occurred is then met once, and its gradient is the sum of the output's gradients of the samples that used
// it.
//
// Each sum belongs to one thread and has one order, so the number of threads does not change a bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/keys.hpp"
#include "net/functions.hpp"

namespace gcwsnet {

// Which row of the table a code looks up, and with which sign.
//
// Code c of hash j has position 2^b j + c. That is its row, or, with a count-sketch, the position's bin is, and the row
// is added with the position's sign.
class CodeToRow {
 public:
  CodeToRow(std::size_t n_hashes, int bits, std::size_t n_rows, bool sketched, std::uint64_t seed)
      : n_hashes_(n_hashes),
        bits_(bits),
        n_rows_(n_rows),
        sketched_(sketched),
        keys_(seed, KeyStream::Purpose::kSketch) {}

  Lookup operator()(std::size_t hash, std::uint64_t code) const {
    const std::uint64_t position = (static_cast<std::uint64_t>(hash) << bits_) + code;
    if (!sketched_) return static_cast<Lookup>(position << 1);
    const Key key = halves(keys_(position));
    return static_cast<Lookup>(((key.high * static_cast<std::uint64_t>(n_rows_)) >> 32 << 1) | (key.low & 1));
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

// Rows of codes of one of three types, which begin `stride` codes apart.
struct CodeRows {
  const void* codes;
  std::size_t bytes_per_code;  // 1, 2 or 4
  std::size_t n, n_hashes, stride;

  // What the codes of a row look up.
  void lookups(const CodeToRow& rows, std::size_t row, Lookup* out) const;
  // The hash of the first code of a row that has more bits than `bits`, or n_hashes if all codes fit.
  std::size_t first_out_of_range(std::size_t row, int bits) const;
  std::uint64_t code(std::size_t row, std::size_t hash) const;
};

// What a lookup is sorted by, the row in the upper half; in the lower one the sample and the sign.
using RowAndLookup = std::uint64_t;

// Where the lookups of a group of adjacent rows go when sorted, the rows that occurred, and the ends of the lookups of
// each.
struct SortedGroup {
  Lookup* lookups;
  std::uint32_t* rows;
  std::size_t* ends;
  std::size_t begin;  // what ends are counted from
};

// Sorts the lookups of a group by their row; lookups of one row stay in their order. Rows of a group differ by
// `low_bits` bits: if these are few, by counting. Bits tell which rows occurred, so that only those are looked at.
class LookupSort {
 public:
  explicit LookupSort(int low_bits)
      : counts_(low_bits <= kMaxCountedBits), low_(counts_ ? (std::uint32_t{1} << low_bits) - 1 : 0) {}
  static constexpr int kMaxCountedBits = 12;

  // Returns the number of rows. What is in `lookups` then does not matter.
  std::size_t operator()(RowAndLookup* lookups, std::size_t n, const SortedGroup& to) {
    return counts_ ? sort_by_counting(lookups, n, to) : sort_by_comparing(lookups, n, to);
  }

 private:
  std::size_t sort_by_counting(const RowAndLookup* lookups, std::size_t n, const SortedGroup& to);
  static std::size_t sort_by_comparing(RowAndLookup* lookups, std::size_t n, const SortedGroup& to);

  bool counts_;
  std::uint32_t low_;  // bits
  std::vector<std::size_t> place_ = std::vector<std::size_t>(std::size_t{low_} + 1);
  std::vector<std::uint64_t> occurred_ = std::vector<std::uint64_t>(low_ / 64 + 1);
};

// The lookups of a batch in a training step, in groups of adjacent rows of the table, which threads work on apart.
//
// Without a sketch the rows of a hash are a group. With one, each sample's lookups are put into groups by the high bits
// of their rows, in the order of the hashes.
class BatchLookups {
 public:
  BatchLookups(const CodeToRow& rows, std::size_t n_samples);

  // What forward takes.
  const Lookup* of_sample(std::size_t sample) const { return lookups_.get() + sample * stride_; }
  std::size_t stride() const { return stride_; }
  void fill(std::size_t sample, const CodeRows& codes, std::size_t row);

  std::size_t n_groups() const { return n_groups_; }
  int low_bits() const { return low_bits_; }
  std::size_t first_row(std::size_t group) const { return group << low_bits_; }
  std::size_t end_row(std::size_t group) const { return std::min((group + 1) << low_bits_, rows_.n_rows()); }
  bool has_signs() const { return rows_.has_signs(); }
  // Of groups from `begin` to before `end`, for the first n samples.
  std::size_t n_lookups(std::size_t begin, std::size_t end, std::size_t n) const;
  // Writes the lookups of a group by the first n samples, sample after sample; returns how many.
  std::size_t collect(std::size_t group, std::size_t n, RowAndLookup* to) const;

 private:
  const CodeToRow& rows_;
  std::size_t stride_, n_groups_;
  int low_bits_;
  Aligned<Lookup> lookups_;        // of each sample, hash after hash
  Aligned<Lookup> grouped_;        // group after group; only with a sketch
  Aligned<std::uint32_t> begins_;  // of each sample: where the groups begin in it, and the end of the last
};

// The lookups of a whole batch, sorted by row: the backward pass of the layer for torch.
class LookupsByRow {
 public:
  // The codes have been checked.
  template <class Code>
  LookupsByRow(const CodeToRow& rows, const CodeMatrix<Code>& codes, int n_threads);

  std::size_t n_samples() const { return n_samples_; }
  std::size_t n_table_rows() const { return n_table_rows_; }
  std::size_t n_rows_used() const { return n_rows_used_; }

  // The rows that occurred, ascending, and the gradient of each. `gradient` is that of the output, [n_samples][width].
  void row_sums(const float* gradient, std::size_t width, std::int64_t* rows, float* sums, int n_threads) const;

  // One step of Adam on the rows that occurred. `mean` is null where beta1 is 0.
  void adam(const AdamStep& step, const float* gradient, std::size_t width, float* table, float* mean, float* square,
            int n_threads) const;

 private:
  // Of a row that occurred, out of the rows of the gradient.
  Lookups lookups(std::size_t number) const {
    return {lookups_.get() + first_[number], first_[number + 1] - first_[number], has_signs_};
  }

  std::size_t n_samples_, n_table_rows_, n_lookups_, n_rows_used_ = 0;
  bool has_signs_;
  Aligned<Lookup> lookups_;        // samples, row after row
  Aligned<std::uint32_t> row_of_;  // the rows that occurred
  Aligned<std::size_t> first_;     // where the lookups of each begin, and the end of the last
};

}  // namespace gcwsnet
