// GCWS samples and codes of rows, with parameters that are a pure function of (seed, feature, hash).
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include "keys.hpp"
#include "parallel.hpp"
#include "plan.hpp"
#include "rows.hpp"

namespace gcwsnet {

class Hasher {
 public:
  // How rows are scanned. All ways give the same samples; kAuto takes the one that looks quickest, the others are there
  // to be compared.
  enum class Scan { kAuto, kFull, kSorted, kHeavy };

  // Parameters are kept in a table, and features sorted, if that takes at most `table_bytes`; else parameters are
  // generated for each entry again.
  Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes, Scan scan);

  std::size_t n_columns() const { return n_columns_; }
  std::size_t n_hashes() const { return n_hashes_; }

  // i* and t*, rows x n_hashes each; -1 and 0 for a row without non-zero entries.
  template <class Rows>
  void samples(const Rows& rows, const Reading& how, std::int64_t* i_star, std::int64_t* t_star, int n_threads,
               StopSign& stop_sign) {
    hash(rows, how, n_threads, stop_sign, [&](const InstructionSet&, std::size_t row, const std::uint32_t* i, const float* t) {
      for (std::size_t j = 0; j < n_hashes_; ++j) {
        const bool empty = std::isnan(t[j]);
        i_star[row * n_hashes_ + j] = empty ? -1 : static_cast<std::int64_t>(i[j]);
        t_star[row * n_hashes_ + j] = empty ? 0 : static_cast<std::int64_t>(t[j]);
      }
    });
  }

  // Codes, rows x n_hashes.
  template <class Rows, class Code>
  void codes(const Rows& rows, const Reading& how, const Encoding& encoding, Code* out, int n_threads,
             StopSign& stop_sign) {
    hash(rows, how, n_threads, stop_sign,
         [&](const InstructionSet& set, std::size_t row, const std::uint32_t* i, const float* t) {
           std::uint32_t high[kHashBlock], low[kHashBlock];
           for (std::size_t j = 0; j < n_hashes_; j += kHashBlock) {
             set.encode(encoding, i + j, t + j, salts_low_.data() + j, salts_high_.data() + j, high, low);
             const std::size_t here = std::min<std::size_t>(kHashBlock, n_hashes_ - j);
             Code* to = out + row * n_hashes_ + j;
             if (encoding.t_bits == 0) {
               for (std::size_t lane = 0; lane < here; ++lane) to[lane] = static_cast<Code>(high[lane]);
               continue;
             }
             for (std::size_t lane = 0; lane < here; ++lane) {
               to[lane] = static_cast<Code>((std::uint64_t{high[lane]} << encoding.t_bits) | low[lane]);
             }
           }
         });
  }

 private:
  // The rows one thread has at hand, and its buffers. Samples are [row][padded_hashes()].
  struct Workspace {
    EntryBuffer entries;             // of all rows, row `r` from start[r] to start[r + 1]
    std::vector<std::size_t> start;
    std::vector<float> a, t;
    std::vector<std::uint32_t> i;
    std::vector<Key> key;            // of the entries, where parameters are generated
    std::unique_ptr<PrunedWorkspace> pruned;
    std::vector<RowView> views;
    EntryBuffer heavy;
    std::vector<std::size_t> heavy_start;
    std::vector<float> limit, by_feature;

    std::size_t n_rows() const { return start.size() - 1; }
    Entries row(std::size_t r) const;
  };

  static constexpr std::size_t kPiece = std::size_t{1} << 16;  // entries scanned between two looks at the stop sign
  static constexpr std::size_t kRowsForLists = 64;             // hashed before sorting the features pays

  std::size_t n_features() const { return 2 * n_columns_; }
  std::size_t n_blocks() const { return hash_keys_.size(); }
  std::size_t padded_hashes() const { return n_blocks() * kHashBlock; }
  Samples samples_at(Workspace& w, std::size_t row, std::size_t block) const;

  // The table, built once it pays: when at least as many entries have been hashed as it has features. Else nullptr.
  const float* table_for(std::size_t n_rows, std::size_t n_entries, const InstructionSet& set, int n_threads,
                         StopSign& stop_sign);
  // The sorted lists, built once they pay. nullptr before, and if there is no memory for them.
  const SortedLists* lists_for(int shift, StopSign& stop_sign);

  // How each group of rows is scanned; fills `heavy`, `heavy_start` and `limit` of the workspace.
  std::vector<Plan> plan(const InstructionSet& set, const SortedLists* lists, Workspace& w) const;
  // The samples of the rows of the workspace.
  void sample(const InstructionSet& set, const float* table, Workspace& w, StopSign& stop_sign);
  void sample_generated(const InstructionSet& set, Workspace& w, StopSign& stop_sign) const;
  void scan(const InstructionSet& set, const float* table, std::size_t block, const Entries& row, const Samples& samples,
            StopSign& stop_sign) const;
  void lay_side_by_side(const InstructionSet& set, Workspace& w, std::size_t start, std::size_t n, std::size_t lanes,
                        std::size_t n_slots, int shift) const;
  void scan_sorted(const InstructionSet& set, const float* table, const SortedLists& lists, int shift, bool heavy,
                   std::size_t first, std::size_t n, Workspace& w, StopSign& stop_sign) const;

  // sink(instruction set, row, i*, t*) for each row; the arrays hold padded_hashes() samples.
  template <class Rows, class Sink>
  void hash(const Rows& rows, const Reading& how, int n_threads, StopSign& stop_sign, Sink sink);

  std::size_t n_columns_, n_hashes_, table_bytes_;
  Scan scan_;
  KeyStream feature_keys_;
  std::vector<HashKeys> hash_keys_;  // one per block of hashes; the last block is filled up with further hashes
  std::vector<std::uint32_t> salts_low_, salts_high_;
  std::mutex mutex_;  // of what follows, which is made on demand and then stays
  std::unique_ptr<float[]> table_;  // [block][feature][kTableRow]
  std::unique_ptr<SortedLists> lists_[2];
  std::size_t rows_seen_ = 0, entries_seen_ = 0;
};

template <class Rows, class Sink>
void Hasher::hash(const Rows& rows, const Reading& how, int n_threads, StopSign& stop_sign, Sink sink) {
  if (rows.n_rows == 0) return;
  const InstructionSet& set = chosen_instruction_set();
  const float* table = table_for(rows.n_rows, rows.most_entries(), set, n_threads, stop_sign);
  const std::size_t entries_per_row = rows.most_entries() / rows.n_rows + 1;
  const std::size_t rows_per_block = std::clamp<std::size_t>(
      std::min(4 * kPiece / entries_per_row, (std::size_t{1} << 18) / padded_hashes()), 1, 64);
  const std::size_t n_row_blocks = (rows.n_rows + rows_per_block - 1) / rows_per_block;

  for_each_block(n_row_blocks, n_threads, stop_sign, [&] {
    return [&, w = Workspace()](std::size_t row_block) mutable {
      const std::size_t first = row_block * rows_per_block;
      const std::size_t n = std::min(rows_per_block, rows.n_rows - first);
      w.entries.clear();
      w.start.assign(1, 0);
      for (std::size_t row = 0; row < n; ++row) {
        rows.read(set, first + row, how, w.entries);
        w.start.push_back(w.entries.size());
      }
      sample(set, table, w, stop_sign);
      for (std::size_t row = 0; row < n; ++row) {
        const Samples samples = samples_at(w, row, 0);
        sink(set, first + row, samples.i, samples.t);
      }
    };
  });
}

}  // namespace gcwsnet
