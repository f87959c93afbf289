// What is kept between rows so that they are hashed quickly: built on demand, within a bound of memory, never taken
// back.
#pragma once

#include <memory>

#include "hashing/functions.hpp"
#include "hashing/sample_keys.hpp"
#include "hashing/sorted_lists.hpp"

namespace gcwsnet {

class Tables {
 public:
  // `at_once`: what is asked for is built at once, not only when enough rows have come for it to pay.
  Tables(const SampleKeys& keys, std::size_t max_bytes, bool at_once)
      : keys_(keys), max_bytes_(max_bytes), at_once_(at_once) {}

  // Called once for rows that will be hashed: how much the tables will be used.
  void count(std::size_t n_rows, std::size_t n_entries);

  // The parameters of all features, [block][feature][kTableRow].
  // This and the following hold nullptr where there is no memory for them, and before they pay.
  const float* parameters(const HashingFunctions& functions, int n_threads, StopToken& stop_token);
  // The ranks of all features in 0/1 rows.
  RankTable ranks(int shift, const HashingFunctions& functions, int n_threads, StopToken& stop_token);
  // The features of each hash sorted by s, after `parameters` has given a table. With a shift of 1 only the even
  // features. Threads that call this at the same time build the lists together.
  const SortedLists* lists(int shift, StopToken& stop_token);

 private:
  static constexpr std::size_t kRowsForLists = 64;      // hashed before sorting the features pays
  static constexpr std::size_t kFeaturesPerPart = 512;  // built at a time

  // `width` numbers for each feature.
  template <class Number>
  struct Table {
    Table(std::size_t n_slots, std::size_t width)
        : numbers(aligned<Number>(n_slots * width)), parts(blocks_of(n_slots, kFeaturesPerPart)) {}
    Aligned<Number> numbers;
    SharedBuild parts;
  };

  // A table that fill(feature keys, first slot, n, table) writes.
  template <class Number, class Fill>
  const Number* finished(std::unique_ptr<Table<Number>>& table, int shift, std::size_t width, int n_threads,
                         StopToken& stop_token, Fill fill);

  const SampleKeys& keys_;
  const std::size_t max_bytes_;
  const bool at_once_;
  // The rest is read and changed under a ForkSafeLock. Tables are never replaced, so their content needs none.
  std::size_t rows_seen_ = 0, entries_seen_ = 0, taken_bytes_ = 0;
  std::unique_ptr<Table<float>> parameters_;
  std::unique_ptr<Table<std::uint8_t>> ranks_[2];
  std::unique_ptr<SortedLists> lists_[2];
};

}  // namespace gcwsnet
