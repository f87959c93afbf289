// The picks of a batch, sorted by the row of the table, so that each row that occurred is met once: its gradient is the sum
// of the output's gradients of the samples that picked it.
//
// Each sum belongs to one thread and has one order, so the number of threads does not change a bit.
#pragma once

#include "base/aligned.hpp"
#include "layer/hashed_linear.hpp"

namespace gcwsnet {

class PicksByRow {
 public:
  // The codes have been checked.
  template <class Code>
  PicksByRow(const RowOfCode& rows, const CodeMatrix<Code>& codes, int n_threads);

  std::size_t n_samples() const { return n_samples_; }
  std::size_t n_table_rows() const { return n_table_rows_; }
  std::size_t n_picked_rows() const { return n_picked_rows_; }

  // The rows that occurred, ascending, and the gradient of each. `gradient` is that of the output, [n_samples][width].
  void row_sums(const float* gradient, std::size_t width, std::int64_t* rows, float* sums, int n_threads) const;

  // One step of Adam on the rows that occurred. `mean` is null where beta1 is 0.
  void adam(const AdamStep& step, const float* gradient, std::size_t width, float* table, float* mean, float* square,
            int n_threads) const;

 private:
  // Of a row that occurred, out of the rows of the gradient.
  Picks picks(std::size_t number) const {
    return {picks_.get() + first_[number], first_[number + 1] - first_[number], has_signs_};
  }

  std::size_t n_samples_, n_table_rows_, n_picks_, n_picked_rows_ = 0;
  bool has_signs_;
  Aligned<RowPick> picks_;         // samples, row after row
  Aligned<std::uint32_t> row_of_;  // the rows that occurred
  Aligned<std::size_t> first_;     // where the picks of each begin, and the end of the last
};

}  // namespace gcwsnet
