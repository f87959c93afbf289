#include "samplers/hasher.hpp"

#include <algorithm>
#include <cmath>

#include "samplers/binwise.hpp"
#include "samplers/extremal.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kBlocksAtOnce = 64;
constexpr std::size_t kNearBytes = std::size_t{1} << 18;  // a larger block of the table is not all in a near cache
constexpr std::size_t kFewRows = 4;  // fewer are scanned one by one, several hashes at once

KeyStream::Purpose salts_of(Hasher::Method method) {
  switch (method) {
    case Hasher::Method::kRejection: return KeyStream::Purpose::kRejectionSalts;
    case Hasher::Method::kBinwise: return KeyStream::Purpose::kBinwiseSalts;
    case Hasher::Method::kExtremal: return KeyStream::Purpose::kExtremalSalts;
    default: return KeyStream::Purpose::kSalts;
  }
}

// Whole blocks of hashes: the last one is filled up with the numbers that follow.
std::vector<std::uint32_t> in_whole_blocks(std::vector<std::uint32_t> hashes) {
  while (hashes.size() % kHashBlock != 0) hashes.push_back(hashes.back() + 1);
  return hashes;
}

}  // namespace

Hasher::Hasher(std::uint64_t seed, std::size_t n_columns, const std::vector<std::uint32_t>& hashes,
               std::size_t table_bytes, Scan scan, Method method)
    : n_hashes_(hashes.size()),
      scan_(scan),
      tables_(seed, 2 * n_columns, in_whole_blocks(hashes), table_bytes, scan != Scan::kAuto),
      salts_low_(padded_hashes()),
      salts_high_(padded_hashes()) {
  if (method == Method::kRejection) {
    auto rejection = std::make_unique<Rejection>(seed, tables_, n_hashes_, table_bytes);
    rejection_ = rejection.get();
    sampler_ = std::move(rejection);
  } else if (method == Method::kBinwise) {
    sampler_ = std::make_unique<Binwise>(seed, tables_, n_hashes_, table_bytes);
  } else if (method == Method::kExtremal) {
    sampler_ = std::make_unique<Extremal>(seed, tables_);
  }
  const KeyStream salts(seed, salts_of(method));
  for (std::size_t j = 0; j < n_hashes_; ++j) {
    const Key salt = halves(salts(hashes[j]));
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

void Hasher::clear_samples(Workspace& w, std::size_t row) const {
  const Samples samples = samples_at(w, row, 0);
  std::fill_n(samples.a, padded_hashes(), std::numeric_limits<float>::infinity());
  std::fill_n(samples.t, padded_hashes(), std::numeric_limits<float>::quiet_NaN());
  std::fill_n(samples.i, padded_hashes(), kNoFeature);
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
        plans[group] = plan_for(w.views, *lists, tables_.n_features());
      } else {
        plans[group] = {Plan::Scan::kSorted, scan_ == Scan::kHeavy, lists->mean_s(0)};
      }
    }
    for (std::size_t r = first; r < end; ++r) {
      if (plans[group].scan == Plan::Scan::kSorted) {
        w.limit[r] = w.views[r - first].largest_L;
        if (plans[group].heavy) {
          const std::size_t before = w.heavy.size();
          w.heavy.resize(before + w.row(r).n);
          const HeavyPart part = set.take_heavy(w.row(r), plans[group].threshold + w.views[r - first].log_sum,
                                                w.heavy.feature.data() + before, w.heavy.L.data() + before);
          w.heavy.resize(before + part.n);
          w.limit[r] = part.largest_of_rest;
        }
        w.limit[r] += slack(w.limit[r]);
      }
      w.heavy_start.push_back(w.heavy.size());
    }
  }
  return plans;
}

void Hasher::make_room(Workspace& w) const {
  const std::size_t n_samples = (w.n_rows() + kRowGroup - 1) / kRowGroup * kRowGroup * padded_hashes();
  w.a.resize(n_samples);
  w.t.resize(n_samples);
  w.i.resize(n_samples);
  w.key.clear();
}

void Hasher::sample(const RowSampler& row_sampler, Workspace& w, StopSign& stop_sign) const {
  for (std::size_t r = 0; r < w.n_rows(); ++r) {
    stop_sign.poll();
    clear_samples(w, r);
    if (w.n_entries(r) > 0) row_sampler(w.row(r), samples_at(w, r, 0));
  }
}

void Hasher::sample(const InstructionSet& set, const Ready& ready, Workspace& w, StopSign& stop_sign) {
  if (ready.ranks != nullptr) {
    sample_by_ranks(set, ready.ranks, ready.shift, w, stop_sign);
  } else if (ready.parameters != nullptr) {
    sample_by_table(set, ready.parameters, w, stop_sign);
  } else {
    make_keys(w);
    for (std::size_t r = 0; r < w.n_rows(); ++r) sample_generated(set, w, r, stop_sign);
  }
}

void Hasher::make_keys(Workspace& w) const {
  w.key.resize(w.entries.size());
  for (std::size_t e = 0; e < w.key.size(); ++e) w.key[e] = tables_.feature_key(w.entries.feature[e]);
}

void Hasher::sample_by_ranks(const InstructionSet& set, const std::int16_t* ranks, int shift, Workspace& w,
                             StopSign& stop_sign) const {
  const std::size_t block_size = (tables_.n_features() >> shift) * kHashBlock;
  const bool far = block_size * sizeof *ranks > kNearBytes;
  std::size_t most = 0;
  for (std::size_t r = 0; r < w.n_rows(); ++r) most = std::max(most, w.n_entries(r));
  if (most > kMostOnes) make_keys(w);
  w.rivals.resize(std::min(most, kMostOnes) + 1);
  EntryBuffer& few = w.heavy;
  std::vector<Key> keys;
  for (std::size_t block = 0; block < n_blocks(); ++block) {
    for (std::size_t r = 0; r < w.n_rows(); ++r) {
      const Entries row = w.row(r);
      if (row.n > kMostOnes) continue;
      const Samples samples = samples_at(w, r, block);
      const std::size_t n = set.scan_ranks(row, ranks + block * block_size, shift, far, samples, w.rivals.data());
      if (n == 0) continue;
      few.resize(n);
      keys.resize(n);
      for (std::size_t e = 0; e < n; ++e) {
        few.feature[e] = row.feature[w.rivals[e]];
        few.L[e] = row.L[w.rivals[e]];
        keys[e] = tables_.feature_key(few.feature[e]);
      }
      std::fill_n(samples.a, kHashBlock, std::numeric_limits<float>::infinity());
      set.scan_generated({few.feature.data(), few.L.data(), keys.data(), n}, tables_.hash_keys()[block], samples);
    }
    stop_sign.poll();
  }
  for (std::size_t r = 0; r < w.n_rows(); ++r) {
    if (w.n_entries(r) > kMostOnes) sample_generated(set, w, r, stop_sign);
  }
}

void Hasher::sample_by_table(const InstructionSet& set, const float* table, Workspace& w, StopSign& stop_sign) {
  std::uint32_t features = 0;
  for (const std::uint32_t feature : w.entries.feature) features |= feature;
  const int shift = features & 1 ? 0 : 1;  // are there negative parts?
  const SortedLists* lists = scan_ == Scan::kFull ? nullptr : tables_.lists(shift, stop_sign);
  const std::vector<Plan> plans = plan(set, lists, w);
  const std::size_t n = w.n_rows();
  for (std::size_t r = 0; r < n; ++r) clear_samples(w, r);
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
  for (std::size_t first = 0; first < n; first += kRowGroup) {
    const Plan& plan = plans[first / kRowGroup];
    if (plan.scan == Plan::Scan::kFull) continue;
    scan_sorted(set, table, *lists, shift, plan.heavy, first, std::min<std::size_t>(kRowGroup, n - first), w, stop_sign);
  }
}

void Hasher::sample_generated(const InstructionSet& set, Workspace& w, std::size_t r, StopSign& stop_sign) const {
  if (!w.pruned) w.pruned = std::make_unique<PrunedWorkspace>();
  clear_samples(w, r);
  const Entries row = w.row(r);
  // In pieces, so that the stop sign is seen in time; the samples go on where they were.
  const std::size_t piece = std::max<std::size_t>(PrunedWorkspace::kEntries, kPiece * 16 / n_blocks());
  for (std::size_t from = 0; from < row.n; from += piece) {
    const Entries part = {row.feature + from, row.L + from, row.key + from, std::min(piece, row.n - from)};
    for (std::size_t block = 0; block < n_blocks(); block += kBlocksAtOnce) {
      const std::size_t blocks = std::min(kBlocksAtOnce, n_blocks() - block);
      const HashKeys* hashes = tables_.hash_keys() + block;
      if (scan_ == Scan::kFull) {
        for (std::size_t b = 0; b < blocks; ++b) set.scan_generated(part, hashes[b], samples_at(w, r, block + b));
      } else {
        set.scan_pruned_generated(part, hashes, blocks, *w.pruned, samples_at(w, r, block));
      }
      stop_sign.poll();
    }
  }
}

void Hasher::lay_side_by_side(const InstructionSet& set, Workspace& w, std::size_t start, std::size_t n,
                              std::size_t lanes, int shift) const {
  w.by_feature.resize((tables_.n_features() >> shift) * lanes);
  if (lanes == kRowGroup && w.start[start + n] - w.start[start] == n * n_columns()) {  // no row lacks a column
    Entries rows[kRowGroup];
    for (std::size_t lane = 0; lane < lanes; ++lane) rows[lane] = w.row(start + std::min(lane, n - 1));
    set.side_by_side(rows, n_columns(), shift, w.by_feature.data());
    return;
  }
  std::fill(w.by_feature.begin(), w.by_feature.end(), -std::numeric_limits<float>::infinity());
  for (std::size_t lane = 0; lane < n; ++lane) {
    const Entries row = w.row(start + lane);
    for (std::size_t e = 0; e < row.n; ++e) w.by_feature[(row.feature[e] >> shift) * lanes + lane] = row.L[e];
  }
}

void Hasher::scan_sorted(const InstructionSet& set, const float* table, const SortedLists& lists, int shift, bool heavy,
                         std::size_t first, std::size_t n, Workspace& w, StopSign& stop_sign) const {
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
    lay_side_by_side(set, w, start, std::min(lanes, first + n - start), lanes, shift);
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
    const std::size_t block_size = tables_.n_features() * kTableRow;
    set.scan_table(piece, table + block * block_size, block_size * sizeof(float) > kNearBytes, samples);
  }
}

}  // namespace gcwsnet
