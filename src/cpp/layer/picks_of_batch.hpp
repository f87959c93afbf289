// The picks of a batch that is being learned, in groups of adjacent rows of the table, which threads work on apart.
//
// Without a sketch the rows of a hash are a group. With one, each sample's picks are put into groups by the high bits of
// their rows, in the order of the hashes.
#pragma once

#include "layer/net.hpp"
#include "layer/sorted_picks.hpp"

namespace gcwsnet {

class PicksOfBatch {
 public:
  PicksOfBatch(const RowOfCode& rows, std::size_t n_samples);

  // What forward takes.
  const RowPick* of_sample(std::size_t sample) const { return picks_.get() + sample * stride_; }
  std::size_t stride() const { return stride_; }
  void fill(std::size_t sample, const CodeRows& codes, std::size_t row);

  std::size_t n_groups() const { return n_groups_; }
  int low_bits() const { return low_bits_; }
  std::size_t first_row(std::size_t group) const { return group << low_bits_; }
  std::size_t end_row(std::size_t group) const { return std::min((group + 1) << low_bits_, rows_.n_rows()); }
  bool has_signs() const { return rows_.has_signs(); }
  // Of groups from `begin` to before `end`, for the first n samples.
  std::size_t n_picks(std::size_t begin, std::size_t end, std::size_t n) const;
  // Writes the picks of a group by the first n samples, sample after sample; returns how many.
  std::size_t collect(std::size_t group, std::size_t n, RowAndPick* to) const;

 private:
  const RowOfCode& rows_;
  std::size_t stride_, n_groups_;
  int low_bits_;
  Aligned<RowPick> picks_;         // of each sample, hash after hash
  Aligned<RowPick> grouped_;       // group after group; only with a sketch
  Aligned<std::uint32_t> begins_;  // of each sample: where the groups begin in it, and the end of the last
};

}  // namespace gcwsnet
