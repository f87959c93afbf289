#include <algorithm>
#include <cmath>

#include "hashing/sampler.hpp"
#include "hashing/scan_plan.hpp"
#include "hashing/tables.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kBlocksAtOnce = 64;
constexpr std::size_t kNearBytes = std::size_t{1} << 18;  // a larger block of the table is not all in a near cache
constexpr std::size_t kFewRows = 4;                       // fewer are scanned one by one, several hashes at once
constexpr std::size_t kPiece = std::size_t{1} << 16;      // entries scanned between two looks at the stop token
constexpr std::size_t kMaxTies = 4096;  // of a row of zeros and ones; with more it is hashed another way
constexpr std::size_t kRowsBetweenPolls = 64;

// The table for the rows of a matrix: for 0/1 rows ranks, for others parameters, or none.
struct BuiltTables {
  const float* parameters = nullptr;
  RankTable ranks = {};
};

class GcwsBatchSampler : public BatchSampler {
 public:
  GcwsBatchSampler(const HashingFunctions& functions, const SampleKeys& keys, Scan scan, Tables& tables,
                   const BuiltTables& ready, StopToken& stop_token)
      : functions_(functions),
        keys_(keys),
        scan_(scan),
        tables_(tables),
        ready_(ready),
        stop_token_(stop_token),
        group_(static_cast<std::size_t>(functions.row_group)) {}

  bool takes_zeros() const override { return ready_.ranks.ranks == nullptr && ready_.parameters != nullptr; }
  bool wants_many_rows() const override { return !takes_zeros() || heavy_.size() > 0; }

  void sample(const RowBatch& rows, SampleBuffer& samples) override {
    key_.clear();
    if (ready_.ranks.ranks != nullptr) {
      sample_by_ranks(rows, samples);
    } else if (ready_.parameters != nullptr) {
      sample_by_table(rows, samples);
    } else {
      make_keys(rows);
      for (std::size_t r = 0; r < rows.n_rows(); ++r) sample_generated(rows, r, samples);
    }
  }

 private:
  std::size_t n_blocks() const { return keys_.n_blocks(); }
  static bool few_rows(std::size_t n) { return n < kFewRows; }

  void make_keys(const RowBatch& rows) {
    key_.resize(rows.entries.size());
    for (std::size_t e = 0; e < key_.size(); ++e) key_[e] = keys_.feature(rows.entries.feature[e]);
  }

  void sample_by_ranks(const RowBatch& rows, SampleBuffer& samples);
  void break_ties(const Entries& row, std::size_t n, const Samples& samples);
  void sample_by_table(const RowBatch& rows, SampleBuffer& samples);
  void sample_generated(const RowBatch& rows, std::size_t row, SampleBuffer& samples);

  // Whether a sorted scan of a group of rows may be quicker than a full one, by their number of entries; of any group.
  bool plan_pays(const RowBatch& rows, std::size_t first, std::size_t end) const;
  bool lists_pay(const RowBatch& rows) const;
  // How each group of rows is scanned; fills heavy_, heavy_start_ and limit_.
  std::vector<Plan> plan(const SortedLists* lists, const RowBatch& rows);
  void scan_table(std::size_t block, const Entries& row, const Samples& samples);
  void interleave(const RowBatch& rows, std::size_t start, std::size_t n, std::size_t lanes, int shift);
  void scan_sorted(const SortedLists& lists, int shift, bool heavy, const RowBatch& rows, std::size_t first,
                   std::size_t n, SampleBuffer& samples);

  const HashingFunctions& functions_;
  const SampleKeys& keys_;
  const Scan scan_;
  Tables& tables_;
  const BuiltTables ready_;
  StopToken& stop_token_;
  const std::size_t group_;  // rows that are scanned together

  UninitializedVector<Key> key_;      // of the entries, where parameters are generated
  std::vector<std::uint32_t> entry_;  // of the least rank, for each hash
  std::vector<std::uint32_t> tied_entry_, pair_hash_, pair_low_, pair_high_,
      pair_order_;  // that share the least rank of a hash
  std::vector<float> zeros_, pair_t_;
  std::vector<std::uint64_t> least_;
  std::unique_ptr<PrunedWorkspace> pruned_;
  std::vector<RowView> views_;
  EntryBuffer heavy_;
  std::vector<std::size_t> heavy_start_;
  std::vector<float> limit_;
  UninitializedVector<float> by_feature_;
};

bool GcwsBatchSampler::plan_pays(const RowBatch& rows, std::size_t first, std::size_t end) const {
  std::size_t n_entries = 0;
  for (std::size_t r = first; r < end; ++r) n_entries += rows.summary[r].n;
  return scan_ != Scan::kAuto || plan_pays_off(n_entries, end - first);
}

bool GcwsBatchSampler::lists_pay(const RowBatch& rows) const {
  if (scan_ == Scan::kFull) return false;
  for (std::size_t first = 0; first < rows.n_rows(); first += group_) {
    if (plan_pays(rows, first, std::min(first + group_, rows.n_rows()))) return true;
  }
  return false;
}

std::vector<Plan> GcwsBatchSampler::plan(const SortedLists* lists, const RowBatch& rows) {
  const float none = -std::numeric_limits<float>::infinity();
  const std::size_t n = rows.n_rows();
  const std::size_t n_groups = (n + group_ - 1) / group_;
  std::vector<Plan> plans(n_groups);
  heavy_.clear();
  heavy_start_.assign(1, 0);
  limit_.assign(n_groups * group_, none);
  for (std::size_t group = 0; group < n_groups; ++group) {
    const std::size_t first = group * group_;
    const std::size_t end = std::min(first + group_, n);
    Plan& plan = plans[group];
    if (lists != nullptr && plan_pays(rows, first, end)) {
      views_.clear();
      for (std::size_t r = first; r < end; ++r) {
        const Entries row = rows.row(r);
        const RowSummary& summary = rows.summary[r];
        const float sum =
            summary.n == 0 ? 1.0f : std::max(functions_.sum_of_exp(row.L, row.n, summary.largest_L), 1.0f);
        views_.push_back({row.L, row.n, summary.n, summary.largest_L, summary.largest_L + std::log(sum)});
      }
      if (scan_ == Scan::kAuto) {
        plan = choose_plan(views_, *lists, keys_.n_features(), functions_);
      } else {
        plan = {Plan::Scan::kSorted, scan_ == Scan::kHeavy, lists->mean_s(0)};
      }
    }
    for (std::size_t r = first; r < end; ++r) {
      limit_[r] = rows.summary[r].largest_L;
      if (plan.scans_entries()) {  // the heavy ones, or all
        const std::size_t before = heavy_.size();
        heavy_.resize(before + rows.n_entries(r));
        const HeavyPart part =
            functions_.take_heavy(rows.row(r), plan.heavy ? plan.threshold + views_[r - first].log_sum : none,
                                  heavy_.feature.data() + before, heavy_.L.data() + before);
        heavy_.resize(before + part.n);
        limit_[r] = part.largest_of_rest;
      }
      limit_[r] += slack(limit_[r]);
      heavy_start_.push_back(heavy_.size());
    }
  }
  return plans;
}

void GcwsBatchSampler::sample_by_ranks(const RowBatch& rows, SampleBuffer& samples) {
  const RankTable& table = ready_.ranks;
  entry_.resize(table.width / kRankWordBytes * kRankWord);
  for (auto* numbers : {&tied_entry_, &pair_hash_, &pair_low_, &pair_high_, &pair_order_}) numbers->resize(kMaxTies);
  for (auto* numbers : {&zeros_, &pair_t_}) numbers->resize(kMaxTies);
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    if (r % kRowsBetweenPolls == 0) stop_token_.poll();
    const Entries row = rows.row(r);
    if (row.n == 0) {
      samples.clear(r);
      continue;
    }
    const std::size_t n_ahead = rows.entries.size() - rows.start[r];
    const std::size_t n_ties =
        functions_.scan_ranks(row, table, n_ahead, entry_.data(), {tied_entry_.data(), pair_hash_.data(), kMaxTies});
    if (n_ties > kMaxTies) {
      if (key_.empty()) make_keys(rows);
      sample_generated(rows, r, samples);
      continue;
    }
    const Samples to = samples.at(r);
    std::fill_n(to.t, table.n_hashes, 0.0f);
    for (std::size_t hash = 0; hash < table.n_hashes; ++hash) to.i[hash] = row.feature[entry_[hash]];
    break_ties(row, n_ties, to);
  }
}

// Of the entries that share the least rank of a hash the one with the least a; on a tie the lowest feature, which
// stands behind the order of a in one number. There is no branch: nobody could predict it.
void GcwsBatchSampler::break_ties(const Entries& row, std::size_t n, const Samples& samples) {
  const std::size_t padded = (n + kHashBlock - 1) / kHashBlock * kHashBlock;
  for (std::size_t at = 0; at < padded; ++at) {
    const Key key = keys_.feature(row.feature[at < n ? tied_entry_[at] : 0]);
    pair_low_[at] = key.low;
    pair_high_[at] = key.high;
    if (at >= n) pair_hash_[at] = 0;
  }
  functions_.scan_pairs({pair_low_.data(), pair_high_.data(), pair_hash_.data(), n}, zeros_.data(), keys_.hash_blocks(),
                        pair_order_.data(), pair_t_.data());
  least_.resize(keys_.padded_hashes());
  for (std::size_t at = 0; at < n; ++at) least_[pair_hash_[at]] = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t at = 0; at < n; ++at) {
    std::uint64_t& least = least_[pair_hash_[at]];
    least = std::min(least, std::uint64_t{pair_order_[at]} << 32 | row.feature[tied_entry_[at]]);
  }
  for (std::size_t at = 0; at < n; ++at) samples.i[pair_hash_[at]] = static_cast<std::uint32_t>(least_[pair_hash_[at]]);
}

void GcwsBatchSampler::sample_by_table(const RowBatch& rows, SampleBuffer& samples) {
  const std::size_t n = rows.n_rows();
  const bool negative =
      std::any_of(rows.summary.begin(), rows.summary.end(), [](const auto& row) { return row.negative; });
  const int shift = negative ? 0 : 1;
  const SortedLists* lists = lists_pay(rows) ? tables_.lists(shift, stop_token_) : nullptr;
  const std::vector<Plan> plans = plan(lists, rows);
  for (std::size_t r = 0; r < n; ++r) {
    if (plans[r / group_].scans_entries() || few_rows(n - r / group_ * group_)) samples.clear(r);
  }
  for (std::size_t block = 0; block < n_blocks(); ++block) {  // outermost, so that its part of the table stays near
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t from = heavy_start_[r], n_heavy = heavy_start_[r + 1] - from;
      if (n_heavy == 0) continue;
      scan_table(block, {heavy_.feature.data() + from, heavy_.L.data() + from, nullptr, n_heavy}, samples.at(r, block));
    }
    stop_token_.poll();
  }
  for (std::size_t first = 0; first < n; first += group_) {
    const Plan& plan = plans[first / group_];
    if (plan.scan == Plan::Scan::kFull) continue;
    scan_sorted(*lists, shift, plan.heavy, rows, first, std::min(group_, n - first), samples);
  }
}

void GcwsBatchSampler::sample_generated(const RowBatch& rows, std::size_t r, SampleBuffer& samples) {
  if (!pruned_) pruned_ = std::make_unique<PrunedWorkspace>();
  samples.clear(r);
  const Entries row = rows.row(r);
  const Key* const key = key_.data() + rows.start[r];
  // In pieces, so that a stop is seen in time; the samples go on where they were.
  const std::size_t piece = std::max<std::size_t>(PrunedWorkspace::kEntries, kPiece * 16 / n_blocks());
  for (std::size_t from = 0; from < row.n; from += piece) {
    const Entries part = {row.feature + from, row.L + from, key + from, std::min(piece, row.n - from)};
    for (std::size_t block = 0; block < n_blocks(); block += kBlocksAtOnce) {
      const std::size_t blocks = std::min(kBlocksAtOnce, n_blocks() - block);
      const HashKeys* hashes = keys_.hash_blocks() + block;
      if (scan_ == Scan::kFull) {
        for (std::size_t b = 0; b < blocks; ++b) functions_.scan_generated(part, hashes[b], samples.at(r, block + b));
      } else {
        functions_.scan_pruned_generated(part, hashes, blocks, *pruned_, samples.at(r, block));
      }
      stop_token_.poll();
    }
  }
}

void GcwsBatchSampler::interleave(const RowBatch& rows, std::size_t start, std::size_t n, std::size_t lanes,
                                  int shift) {
  by_feature_.resize((keys_.n_features() >> shift) * lanes);
  if (lanes == group_ &&
      rows.start[start + n] - rows.start[start] == n * keys_.n_columns()) {  // an entry for each column
    Entries group[kMaxRowGroup];
    for (std::size_t lane = 0; lane < lanes; ++lane) group[lane] = rows.row(start + std::min(lane, n - 1));
    functions_.interleave_rows(group, keys_.n_columns(), shift, by_feature_.data());
    return;
  }
  std::fill(by_feature_.begin(), by_feature_.end(), -std::numeric_limits<float>::infinity());
  for (std::size_t lane = 0; lane < n; ++lane) {
    const Entries row = rows.row(start + lane);
    for (std::size_t e = 0; e < row.n; ++e) by_feature_[(row.feature[e] >> shift) * lanes + lane] = row.L[e];
  }
}

void GcwsBatchSampler::scan_sorted(const SortedLists& lists, int shift, bool heavy, const RowBatch& rows,
                                   std::size_t first, std::size_t n, SampleBuffer& samples) {
  const std::size_t lanes = few_rows(n) ? 1 : group_;
  // The samples that a list was too short for, by a full scan.
  const auto finish = [&](std::size_t row, std::size_t block, std::uint32_t hashes) {
    float a[kHashBlock], t[kHashBlock];
    std::uint32_t i[kHashBlock];
    SampleBuffer::clear_samples({a, t, i}, kHashBlock);
    scan_table(block, rows.row(row), {a, t, i});
    const Samples to = samples.at(row, block);
    for (int hash = 0; hash < kHashBlock; ++hash) {
      if ((hashes >> hash & 1) == 0) continue;
      to.t[hash] = t[hash];
      to.i[hash] = i[hash];
    }
  };
  for (std::size_t start = first; start < first + n; start += lanes) {
    const std::size_t end = std::min(start + lanes, first + n);
    interleave(rows, start, end - start, lanes, shift);
    for (std::size_t r = start; r < end; ++r) {  // what was scanned before must not come again and tie with itself
      for (std::size_t e = heavy_start_[r]; e < heavy_start_[r + 1]; ++e) {
        by_feature_[(heavy_.feature[e] >> shift) * lanes + (r - start)] = -std::numeric_limits<float>::infinity();
      }
    }
    const bool far = by_feature_.size() * sizeof(float) > kNearBytes;
    const RowsByFeature by_feature = {by_feature_.data(), shift, far, limit_.data() + start};
    for (std::size_t block = 0; block < n_blocks(); ++block) {
      const SortedFeatures list = lists.block(block);
      const Samples to = samples.at(start, block);
      const std::uint32_t unfinished =
          lanes == 1 ? functions_.scan_sorted_places(list, by_feature, to)
                     : functions_.scan_sorted_rows(list, by_feature, heavy, to, samples.padded_hashes());
      for (std::size_t r = start; unfinished != 0 && r < end; ++r) finish(r, block, unfinished);
      stop_token_.poll();
    }
  }
}

void GcwsBatchSampler::scan_table(std::size_t block, const Entries& row, const Samples& samples) {
  const std::size_t block_size = keys_.n_features() * kTableRow;
  const float* const table = ready_.parameters + block * block_size;
  for (std::size_t from = 0; from < row.n; from += kPiece) {
    if (from > 0) stop_token_.poll();
    const Entries piece = {row.feature + from, row.L + from, nullptr, std::min(kPiece, row.n - from)};
    functions_.scan_table(piece, table, block_size * sizeof(float) > kNearBytes, samples);
  }
}

class GcwsSampler : public Sampler {
 public:
  // Without tables parameters are generated for each entry again.
  GcwsSampler(const SampleKeys& keys, std::size_t table_bytes, Scan scan)
      : keys_(keys), scan_(scan), tables_(keys, table_bytes, scan != Scan::kAuto) {}

  MakeBatchSampler start(const HashingFunctions& functions, const RowSource& rows, int n_threads,
                         StopToken& stop_token) override {
    BuiltTables ready;
    tables_.count(rows.n_rows(), rows.max_entries());
    if (scan_ == Scan::kAuto || scan_ == Scan::kRanks) {
      const ZeroOne zero_one = rows.zero_one();
      const int shift = zero_one.negative ? 0 : 1;
      const std::size_t n_slots = keys_.n_features() >> shift;
      if (zero_one.holds && (scan_ == Scan::kRanks || ranks_pay(zero_one.n_ones / rows.n_rows(), n_slots))) {
        ready.ranks = tables_.ranks(shift, functions, n_threads, stop_token);
      }
    }
    if (ready.ranks.ranks == nullptr) ready.parameters = tables_.parameters(functions, n_threads, stop_token);
    return [this, &functions, ready, &stop_token] {
      return std::make_unique<GcwsBatchSampler>(functions, keys_, scan_, tables_, ready, stop_token);
    };
  }

 private:
  const SampleKeys& keys_;
  Scan scan_;
  Tables tables_;
};

}  // namespace

std::unique_ptr<Sampler> make_gcws(const SampleKeys& keys, std::size_t table_bytes, Scan scan) {
  return std::make_unique<GcwsSampler>(keys, table_bytes, scan);
}

}  // namespace gcwsnet
