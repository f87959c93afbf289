// Samples and codes of rows. GCWS is here, with parameters that are a pure function of (seed, feature, hash).
#pragma once

#include <algorithm>
#include <memory>

#include "base/rows.hpp"
#include "gcws/plan.hpp"
#include "samplers/rejection.hpp"

namespace gcwsnet {

class Hasher {
 public:
  enum class Method { kGcws, kRejection, kBinwise, kExtremal };

  // How GCWS scans rows. All ways give the same samples; kAuto takes the one that looks quickest, the others are there
  // to be compared.
  enum class Scan { kAuto, kFull, kSorted, kHeavy, kRanks };

  // `hashes`: the numbers of the hashes, at least one; but for GCWS they are 0, 1, 2, ...
  // Tables take at most `table_bytes`. Without them parameters are generated for each entry again.
  Hasher(std::uint64_t seed, std::size_t n_columns, const std::vector<std::uint32_t>& hashes, std::size_t table_bytes,
         Scan scan, Method method);

  std::size_t n_columns() const { return tables_.n_features() / 2; }
  std::size_t n_hashes() const { return n_hashes_; }
  // What caps are given to; nullptr if the method has none.
  Rejection* rejection() { return rejection_; }

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
  // The table that is there for the rows of a call: for 0/1 rows ranks, for others parameters, or none.
  struct Ready {
    const float* parameters = nullptr;
    const std::int16_t* ranks = nullptr;
    int shift = 0;  // of the ranks
  };

  // The rows one thread has at hand, and its buffers. Samples are [row][padded_hashes()].
  struct Workspace {
    EntryBuffer entries;             // of all rows, row `r` from start[r] to start[r + 1]
    std::vector<std::size_t> start;
    Room<float> a, t;
    Room<std::uint32_t> i;
    Room<Key> key;                   // of the entries, where parameters are generated
    std::vector<std::uint32_t> rivals;
    std::unique_ptr<PrunedWorkspace> pruned;
    std::vector<RowView> views;
    EntryBuffer heavy;
    std::vector<std::size_t> heavy_start;
    std::vector<float> limit;
    Room<float> by_feature;

    std::size_t n_rows() const { return start.size() - 1; }
    Entries row(std::size_t r) const;
    std::size_t n_entries(std::size_t r) const { return start[r + 1] - start[r]; }
  };

  static constexpr std::size_t kPiece = std::size_t{1} << 16;  // entries scanned between two looks at the stop sign
  // That a thread has at hand.
  static constexpr std::size_t kMostRows = 256, kMostEntries = std::size_t{1} << 21, kMostSamples = std::size_t{1} << 18;

  std::size_t n_blocks() const { return tables_.n_blocks(); }
  std::size_t padded_hashes() const { return n_blocks() * kHashBlock; }
  Samples samples_at(Workspace& w, std::size_t row, std::size_t block) const;
  void clear_samples(Workspace& w, std::size_t row) const;

  template <class Rows>
  Ready ready_for(const Rows& rows, const InstructionSet& set, int n_threads, StopSign& stop_sign);
  void make_keys(Workspace& w) const;
  // How each group of rows is scanned; fills `heavy`, `heavy_start` and `limit` of the workspace.
  std::vector<Plan> plan(const InstructionSet& set, const SortedLists* lists, Workspace& w) const;

  // The samples of the rows of the workspace.
  void make_room(Workspace& w) const;
  void sample(const InstructionSet& set, const Ready& ready, Workspace& w, StopSign& stop_sign);
  void sample(const RowSampler& row_sampler, Workspace& w, StopSign& stop_sign) const;
  void sample_by_table(const InstructionSet& set, const float* table, Workspace& w, StopSign& stop_sign);
  void sample_by_ranks(const InstructionSet& set, const std::int16_t* ranks, int shift, Workspace& w,
                       StopSign& stop_sign) const;
  void sample_generated(const InstructionSet& set, Workspace& w, std::size_t row, StopSign& stop_sign) const;

  void scan(const InstructionSet& set, const float* table, std::size_t block, const Entries& row, const Samples& samples,
            StopSign& stop_sign) const;
  void lay_side_by_side(const InstructionSet& set, Workspace& w, std::size_t start, std::size_t n, std::size_t lanes,
                        int shift) const;
  void scan_sorted(const InstructionSet& set, const float* table, const SortedLists& lists, int shift, bool heavy,
                   std::size_t first, std::size_t n, Workspace& w, StopSign& stop_sign) const;

  // sink(instruction set, row, i*, t*) for each row; the arrays hold padded_hashes() samples.
  template <class Rows, class Sink>
  void hash(const Rows& rows, const Reading& how, int n_threads, StopSign& stop_sign, Sink sink);

  std::size_t n_hashes_;
  Scan scan_;
  Tables tables_;
  std::unique_ptr<Sampler> sampler_;  // nullptr for GCWS
  Rejection* rejection_ = nullptr;
  std::vector<std::uint32_t> salts_low_, salts_high_;
};

template <class Rows>
Hasher::Ready Hasher::ready_for(const Rows& rows, const InstructionSet& set, int n_threads, StopSign& stop_sign) {
  Ready ready;
  tables_.count(rows.n_rows, rows.most_entries());
  if (scan_ == Scan::kAuto || scan_ == Scan::kRanks) {
    const ZeroOne zero_one = rows.zero_one();
    ready.shift = zero_one.negative ? 0 : 1;
    const std::size_t n_slots = tables_.n_features() >> ready.shift;
    if (zero_one.holds && (scan_ == Scan::kRanks || ranks_pay(zero_one.n_ones / rows.n_rows, n_slots))) {
      ready.ranks = tables_.ranks(ready.shift, set, n_threads, stop_sign);
    }
  }
  if (ready.ranks == nullptr) ready.parameters = tables_.parameters(set, n_threads, stop_sign);
  return ready;
}

template <class Rows, class Sink>
void Hasher::hash(const Rows& rows, const Reading& how, int n_threads, StopSign& stop_sign, Sink sink) {
  if (rows.n_rows == 0) return;
  const InstructionSet& set = chosen_instruction_set();
  const Ready ready = sampler_ ? Ready() : ready_for(rows, set, n_threads, stop_sign);
  std::function<RowSampler()> row_sampler = [] { return RowSampler(); };
  if (sampler_) row_sampler = sampler_->start(set, rows.most_entries(), n_threads, stop_sign);
  // Many rows at a time, since they share the way through the tables; few enough for the threads to end together.
  const std::size_t entries_per_row = rows.most_entries() / rows.n_rows + 1;
  const std::size_t share = rows.n_rows / (4 * static_cast<std::size_t>(std::max(n_threads, 1))) / kRowGroup * kRowGroup;
  const std::size_t rows_per_block =
      std::max<std::size_t>(1, std::min({kMostRows, kMostEntries / entries_per_row, kMostSamples / padded_hashes(),
                                         std::max<std::size_t>(share, 64)}));
  const std::size_t n_row_blocks = (rows.n_rows + rows_per_block - 1) / rows_per_block;

  for_each_block(n_row_blocks, n_threads, stop_sign, [&] {
    return [&, w = Workspace(), row_sampler = row_sampler()](std::size_t row_block) mutable {
      const std::size_t first = row_block * rows_per_block;
      const std::size_t n = std::min(rows_per_block, rows.n_rows - first);
      w.entries.clear();
      w.start.assign(1, 0);
      for (std::size_t row = 0; row < n; ++row) {
        rows.read(set, first + row, how, w.entries);
        w.start.push_back(w.entries.size());
      }
      make_room(w);
      if (row_sampler) {
        sample(row_sampler, w, stop_sign);
      } else {
        sample(set, ready, w, stop_sign);
      }
      for (std::size_t row = 0; row < n; ++row) {
        const Samples samples = samples_at(w, row, 0);
        sink(set, first + row, samples.i, samples.t);
      }
    };
  });
}

}  // namespace gcwsnet
