#include "hasher.hpp"

#include <algorithm>
#include <cmath>

namespace gcwsnet {

namespace {

constexpr std::size_t kBlocksAtOnce = 64;
constexpr std::size_t kFewRows = 4;  // fewer are scanned one by one, several hashes at once

// Appends the entries with an L above the threshold. Returns the largest L of the others.
float take_heavy(const Entries& row, float threshold, EntryBuffer& heavy) {
  const std::size_t before = heavy.size();
  heavy.feature.resize(before + row.n);
  heavy.L.resize(before + row.n);
  float largest = -std::numeric_limits<float>::infinity();
  std::size_t kept = before;
  for (std::size_t e = 0; e < row.n; ++e) {
    const bool above = row.L[e] > threshold;
    heavy.feature[kept] = row.feature[e];
    heavy.L[kept] = row.L[e];
    kept += above;
    largest = std::max(largest, above ? largest : row.L[e]);
  }
  heavy.feature.resize(kept);
  heavy.L.resize(kept);
  return largest;
}

}  // namespace

Hasher::Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes, Scan scan)
    : n_columns_(n_columns),
      n_hashes_(n_hashes),
      table_bytes_(table_bytes),
      scan_(scan),
      feature_keys_(seed, KeyStream::Purpose::kFeatures),
      hash_keys_((n_hashes + kHashBlock - 1) / kHashBlock),
      salts_low_(padded_hashes()),
      salts_high_(padded_hashes()) {
  const KeyStream hash_keys(seed, KeyStream::Purpose::kHashes);
  const KeyStream salts(seed, KeyStream::Purpose::kSalts);
  for (std::size_t j = 0; j < padded_hashes(); ++j) {
    HashKeys& block = hash_keys_[j / kHashBlock];
    for (std::size_t w = 0; w < 4; ++w) {
      const Key key = halves(hash_keys(4 * j + w));
      block.low[w][j % kHashBlock] = key.low;
      block.high[w][j % kHashBlock] = key.high;
    }
    const Key salt = halves(salts(j));
    salts_low_[j] = salt.low;
    salts_high_[j] = salt.high;
  }
}

Entries Hasher::Workspace::row(std::size_t r) const {
  return {entries.feature.data() + start[r], entries.L.data() + start[r], key.empty() ? nullptr : key.data() + start[r],
          start[r + 1] - start[r]};
}

Samples Hasher::samples_at(Workspace& w, std::size_t row, std::size_t block) const {
  const std::size_t at = row * padded_hashes() + block * kHashBlock;
  return {w.a.data() + at, w.t.data() + at, w.i.data() + at};
}

const float* Hasher::table_for(std::size_t n_rows, std::size_t n_entries, const InstructionSet& set, int n_threads,
                               StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  rows_seen_ += n_rows;
  entries_seen_ += n_entries;
  if (table_) return table_.get();
  const std::size_t row_bytes = padded_hashes() * 4 * sizeof(float);
  const bool pays = entries_seen_ >= n_features() || scan_ != Scan::kAuto;
  if (n_features() > table_bytes_ / row_bytes || !pays) return nullptr;

  constexpr std::size_t kChunk = 512;
  const std::size_t n_chunks = (n_features() + kChunk - 1) / kChunk;
  std::unique_ptr<float[]> table(new float[n_features() * padded_hashes() * 4]);
  for_each_block(n_chunks, n_threads, stop_sign, [&] {
    return [&, keys = std::vector<Key>(kChunk)](std::size_t chunk) mutable {
      const std::size_t first = chunk * kChunk;
      const std::size_t n = std::min(kChunk, n_features() - first);
      for (std::size_t i = 0; i < n; ++i) keys[i] = halves(feature_keys_(first + i));
      for (std::size_t block = 0; block < n_blocks(); ++block) {
        set.fill_table(keys.data(), n, hash_keys_[block], table.get() + (block * n_features() + first) * kTableRow);
      }
    };
  });
  table_ = std::move(table);
  return table_.get();
}

const SortedLists* Hasher::lists_for(int shift, StopSign& stop_sign) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<SortedLists>& lists = lists_[shift];
  if (lists) return lists.get();
  const std::size_t wanted = SortedLists::bytes(n_features(), n_blocks(), shift);
  const std::size_t taken = n_features() * padded_hashes() * 4 * sizeof(float) +
                            (lists_[1 - shift] ? SortedLists::bytes(n_features(), n_blocks(), 1 - shift) : 0);
  const bool pays = rows_seen_ >= kRowsForLists || scan_ != Scan::kAuto;
  const bool countable = n_features() <= std::numeric_limits<std::int32_t>::max();  // features are compared as signed
  if (scan_ == Scan::kFull || !countable || taken + wanted > table_bytes_ || !pays) return nullptr;
  lists = std::make_unique<SortedLists>(table_.get(), n_features(), n_blocks(), shift, 1, stop_sign);
  return lists.get();
}

std::vector<Plan> Hasher::plan(const InstructionSet& set, const SortedLists* lists, Workspace& w) const {
  const std::size_t n = w.n_rows();
  const std::size_t n_groups = (n + kRowGroup - 1) / kRowGroup;
  std::vector<Plan> plans(n_groups);
  w.heavy.clear();
  w.heavy_start.assign(1, 0);
  w.limit.assign(n_groups * kRowGroup, -std::numeric_limits<float>::infinity());
  for (std::size_t group = 0; group < n_groups; ++group) {
    const std::size_t first = group * kRowGroup;
    const std::size_t end = std::min(first + kRowGroup, n);
    const bool planned = lists != nullptr && (scan_ != Scan::kAuto || worth_a_plan(w.start[end] - w.start[first], end - first));
    if (planned) {
      w.views.clear();
      for (std::size_t r = first; r < end; ++r) {
        const Entries row = w.row(r);
        const RowShape shape = set.shape_of(row.L, row.n);
        w.views.push_back({row.L, row.n, shape.largest_L, shape.largest_L + std::log(std::max(shape.sum, 1.0f))});
      }
      if (scan_ == Scan::kAuto) {
        plans[group] = plan_for(w.views, *lists);
      } else {
        plans[group] = {Plan::Scan::kSorted, scan_ == Scan::kHeavy, lists->mean_s(0)};
      }
    }
    for (std::size_t r = first; r < end; ++r) {
      if (plans[group].scan == Plan::Scan::kSorted) {
        w.limit[r] = w.views[r - first].largest_L;
        if (plans[group].heavy) {
          w.limit[r] = take_heavy(w.row(r), plans[group].threshold + w.views[r - first].log_sum, w.heavy);
        }
        w.limit[r] += slack(w.limit[r]);
      }
      w.heavy_start.push_back(w.heavy.size());
    }
  }
  return plans;
}

void Hasher::sample(const InstructionSet& set, const float* table, Workspace& w, StopSign& stop_sign) {
  const std::size_t n = w.n_rows();
  const std::size_t n_groups = (n + kRowGroup - 1) / kRowGroup;
  const std::size_t n_samples = n_groups * kRowGroup * padded_hashes();
  w.a.assign(n_samples, std::numeric_limits<float>::infinity());
  w.t.assign(n_samples, std::numeric_limits<float>::quiet_NaN());
  w.i.assign(n_samples, kNoFeature);
  w.key.clear();
  if (table == nullptr) {
    sample_generated(set, w, stop_sign);
    return;
  }

  std::uint32_t features = 0;
  for (const std::uint32_t feature : w.entries.feature) features |= feature;
  const int shift = features & 1 ? 0 : 1;  // are there negative parts?
  const SortedLists* lists = lists_for(shift, stop_sign);
  const std::vector<Plan> plans = plan(set, lists, w);
  for (std::size_t block = 0; block < n_blocks(); ++block) {  // outermost, so that its part of the table stays near
    for (std::size_t r = 0; r < n; ++r) {
      const Plan& plan = plans[r / kRowGroup];
      if (plan.scan == Plan::Scan::kFull) {
        scan(set, table, block, w.row(r), samples_at(w, r, block), stop_sign);
      } else if (plan.heavy) {
        const std::size_t from = w.heavy_start[r];
        const Entries heavy = {w.heavy.feature.data() + from, w.heavy.L.data() + from, nullptr, w.heavy_start[r + 1] - from};
        scan(set, table, block, heavy, samples_at(w, r, block), stop_sign);
      }
    }
    stop_sign.poll();
  }
  for (std::size_t group = 0; group < n_groups; ++group) {
    if (plans[group].scan == Plan::Scan::kFull) continue;
    const std::size_t first = group * kRowGroup;
    scan_sorted(set, table, *lists, shift, plans[group].heavy, first, std::min<std::size_t>(kRowGroup, n - first), w, stop_sign);
  }
}

void Hasher::sample_generated(const InstructionSet& set, Workspace& w, StopSign& stop_sign) const {
  for (const std::uint32_t feature : w.entries.feature) w.key.push_back(halves(feature_keys_(feature)));
  if (!w.pruned) w.pruned = std::make_unique<PrunedWorkspace>();
  for (std::size_t r = 0; r < w.n_rows(); ++r) {
    const Entries row = w.row(r);
    // In pieces, so that the stop sign is seen in time; the samples go on where they were.
    const std::size_t piece = std::max<std::size_t>(PrunedWorkspace::kEntries, kPiece * 16 / n_blocks());
    for (std::size_t from = 0; from < row.n; from += piece) {
      const Entries part = {row.feature + from, row.L + from, row.key + from, std::min(piece, row.n - from)};
      for (std::size_t block = 0; block < n_blocks(); block += kBlocksAtOnce) {
        const std::size_t blocks = std::min(kBlocksAtOnce, n_blocks() - block);
        const Samples samples = samples_at(w, r, block);
        if (scan_ == Scan::kFull) {
          for (std::size_t b = 0; b < blocks; ++b) set.scan_generated(part, hash_keys_[block + b], samples_at(w, r, block + b));
        } else {
          set.scan_pruned_generated(part, hash_keys_.data() + block, blocks, *w.pruned, samples);
        }
        stop_sign.poll();
      }
    }
  }
}

void Hasher::lay_side_by_side(const InstructionSet& set, Workspace& w, std::size_t start, std::size_t n,
                              std::size_t lanes, std::size_t n_slots, int shift) const {
  if (lanes == kRowGroup && w.start[start + n] - w.start[start] == n * n_slots) {  // no row lacks a slot
    w.by_feature.resize(n_slots * lanes);
    const float* rows[kRowGroup];
    for (std::size_t lane = 0; lane < lanes; ++lane) rows[lane] = w.row(start + std::min(lane, n - 1)).L;
    set.side_by_side(rows, n_slots, w.by_feature.data());
    return;
  }
  w.by_feature.assign(n_slots * lanes, -std::numeric_limits<float>::infinity());
  for (std::size_t lane = 0; lane < n; ++lane) {
    const Entries row = w.row(start + lane);
    for (std::size_t e = 0; e < row.n; ++e) w.by_feature[(row.feature[e] >> shift) * lanes + lane] = row.L[e];
  }
}

void Hasher::scan_sorted(const InstructionSet& set, const float* table, const SortedLists& lists, int shift, bool heavy,
                         std::size_t first, std::size_t n, Workspace& w, StopSign& stop_sign) const {
  const std::size_t n_slots = n_features() >> shift;
  const bool together = n >= kFewRows;
  const std::size_t lanes = together ? kRowGroup : 1;
  // The samples that a list was too short for, by a full scan.
  const auto finish = [&](std::size_t row, std::size_t block, std::uint32_t hashes) {
    float a[kHashBlock], t[kHashBlock];
    std::uint32_t i[kHashBlock];
    std::fill_n(a, kHashBlock, std::numeric_limits<float>::infinity());
    std::fill_n(t, kHashBlock, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(i, kHashBlock, kNoFeature);
    scan(set, table, block, w.row(row), {a, t, i}, stop_sign);
    const Samples to = samples_at(w, row, block);
    for (int hash = 0; hash < kHashBlock; ++hash) {
      if ((hashes >> hash & 1) == 0) continue;
      to.t[hash] = t[hash];
      to.i[hash] = i[hash];
    }
  };
  for (std::size_t start = first; start < first + n; start += lanes) {
    lay_side_by_side(set, w, start, std::min(lanes, first + n - start), lanes, n_slots, shift);
    const RowsByFeature rows = {w.by_feature.data(), shift, w.limit.data() + start};
    for (std::size_t block = 0; block < n_blocks(); ++block) {
      const SortedFeatures list = lists.block(block);
      const Samples samples = samples_at(w, start, block);
      if (together) {
        const std::uint32_t unfinished = set.scan_sorted_rows(list, rows, heavy, samples, padded_hashes());
        for (std::size_t r = start; unfinished != 0 && r < first + n; ++r) finish(r, block, unfinished);
      } else if (!set.scan_sorted_hashes(list, rows, samples)) {
        finish(start, block, 0xffffu);
      }
      stop_sign.poll();
    }
  }
}

void Hasher::scan(const InstructionSet& set, const float* table, std::size_t block, const Entries& row,
                  const Samples& samples, StopSign& stop_sign) const {
  for (std::size_t from = 0; from < row.n; from += kPiece) {
    if (from > 0) stop_sign.poll();
    const Entries piece = {row.feature + from, row.L + from, nullptr, std::min(kPiece, row.n - from)};
    set.scan_table(piece, table + block * n_features() * kTableRow, samples);
  }
}

}  // namespace gcwsnet
