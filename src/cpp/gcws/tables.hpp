// What is kept between rows so that they are hashed quickly: made on demand, within a bound of memory, never taken back.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/instruction_set.hpp"
#include "base/keys.hpp"
#include "base/parallel.hpp"
#include "gcws/sorted_lists.hpp"

namespace gcwsnet {

class Tables {
 public:
  // `hashes`: the numbers of the hashes, a whole number of blocks.
  // `at_once`: what is asked for is made at once, not only when enough rows have come for it to pay.
  Tables(std::uint64_t seed, std::size_t n_features, const std::vector<std::uint32_t>& hashes, std::size_t most_bytes,
         bool at_once);

  std::size_t n_features() const { return n_features_; }
  std::size_t n_blocks() const { return hash_keys_.size(); }
  Key feature_key(std::uint32_t feature) const { return halves(feature_keys_(feature)); }
  const HashKeys* hash_keys() const { return hash_keys_.data(); }  // of each block

  // Called once for rows that will be hashed: how much the tables will be used.
  void count(std::size_t n_rows, std::size_t n_entries);

  // The parameters of all features, [block][feature][kTableRow].
  // This and the following are nullptr where there is no memory for them, and before they pay.
  const float* parameters(const InstructionSet& set, int n_threads, StopSign& stop_sign);
  // The features of each hash sorted by s; `parameters` have been made. With a shift of 1 only the even features.
  const SortedLists* lists(int shift, StopSign& stop_sign);
  // The ranks of all features in 0/1 rows (see fill_ranks), [block][feature >> shift][kHashBlock].
  const std::int16_t* ranks(int shift, const InstructionSet& set, int n_threads, StopSign& stop_sign);

 private:
  static constexpr std::size_t kRowsForLists = 64;  // hashed before sorting the features pays

  // A table of `width` numbers for each feature and block of hashes, which fill(feature keys, n, hash keys, to) writes.
  template <class Number, class Fill>
  Aligned<Number> made(int shift, std::size_t width, int n_threads, StopSign& stop_sign, Fill fill);

  std::size_t n_features_, most_bytes_;
  bool at_once_;
  KeyStream feature_keys_;
  std::vector<HashKeys> hash_keys_;
  std::mutex mutex_;  // of what follows
  std::size_t rows_seen_ = 0, entries_seen_ = 0, taken_bytes_ = 0;
  Aligned<float> parameters_;
  Aligned<std::int16_t> ranks_[2];
  std::unique_ptr<SortedLists> lists_[2];
};

}  // namespace gcwsnet
