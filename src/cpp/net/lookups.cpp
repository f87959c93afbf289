#include "net/lookups.hpp"

#include <bit>
#include <utility>

#include "base/parallel.hpp"
#include "dispatch.hpp"

namespace gcwsnet {

namespace {

RowAndLookup sort_key(Lookup lookup, std::size_t sample) {
  return static_cast<RowAndLookup>(lookup >> 1) << 32 | (sample << 1) | (lookup & 1);
}

std::uint32_t row_of(RowAndLookup lookup) { return static_cast<std::uint32_t>(lookup >> 32); }

template <class Function>
auto with_codes_of(const CodeRows& codes, std::size_t row, Function function) {
  const std::size_t at = row * codes.stride;
  switch (codes.bytes_per_code) {
    case 1: return function(static_cast<const std::uint8_t*>(codes.codes) + at);
    case 2: return function(static_cast<const std::uint16_t*>(codes.codes) + at);
    default: return function(static_cast<const std::uint32_t*>(codes.codes) + at);
  }
}

}  // namespace

void CodeRows::lookups(const CodeToRow& rows, std::size_t row, Lookup* out) const {
  with_codes_of(*this, row, [&](const auto* code) {
    for (std::size_t j = 0; j < n_hashes; ++j) out[j] = rows(j, code[j]);
  });
}

std::size_t CodeRows::first_out_of_range(std::size_t row, int bits) const {
  if (static_cast<int>(8 * bytes_per_code) <= bits) return n_hashes;
  return with_codes_of(*this, row, [&](const auto* code) {
    std::uint64_t all = 0;
    for (std::size_t j = 0; j < n_hashes; ++j) all |= code[j];
    if (all >> bits == 0) return n_hashes;
    const auto* wrong = std::find_if(code, code + n_hashes, [&](auto c) { return std::uint64_t{c} >> bits != 0; });
    return static_cast<std::size_t>(wrong - code);
  });
}

std::uint64_t CodeRows::code(std::size_t row, std::size_t hash) const {
  return with_codes_of(*this, row, [&](const auto* code) { return std::uint64_t{code[hash]}; });
}

std::size_t LookupSort::sort_by_counting(const RowAndLookup* lookups, std::size_t n, const SortedGroup& to) {
  if (n == 0) return 0;
  const std::uint32_t low = low_, high = row_of(lookups[0]) & ~low;
  for (std::size_t p = 0; p < n; ++p) {
    const std::uint32_t row = row_of(lookups[p]) & low;
    ++place_[row];
    occurred_[row / 64] |= std::uint64_t{1} << row % 64;
  }
  std::size_t n_rows = 0, before = 0;
  for (std::uint32_t word = 0; word <= low / 64; ++word) {
    for (std::uint64_t bits = std::exchange(occurred_[word], 0); bits != 0; bits &= bits - 1) {
      const std::uint32_t row = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      before += std::exchange(place_[row], before);
      to.rows[n_rows] = high | row;
      to.ends[n_rows++] = to.begin + before;
    }
  }
  for (std::size_t p = 0; p < n; ++p) to.lookups[place_[row_of(lookups[p]) & low]++] = static_cast<Lookup>(lookups[p]);
  for (std::size_t r = 0; r < n_rows; ++r) place_[to.rows[r] & low] = 0;
  return n_rows;
}

std::size_t LookupSort::sort_by_comparing(RowAndLookup* lookups, std::size_t n, const SortedGroup& to) {
  std::stable_sort(lookups, lookups + n, [](RowAndLookup a, RowAndLookup b) { return row_of(a) < row_of(b); });
  std::size_t n_rows = 0;
  for (std::size_t p = 0; p < n; ++p) {
    to.lookups[p] = static_cast<Lookup>(lookups[p]);
    to.rows[n_rows] = row_of(lookups[p]);
    to.ends[n_rows] = to.begin + p + 1;
    n_rows += p + 1 == n || row_of(lookups[p]) != row_of(lookups[p + 1]);
  }
  return n_rows;
}

BatchLookups::BatchLookups(const CodeToRow& rows, std::size_t n_samples)
    : rows_(rows),
      stride_(rows.n_hashes() + 16),  // no power of two: the lookups of one hash would share few places of a cache
      n_groups_(rows.n_hashes()),
      low_bits_(rows.bits()),
      lookups_(aligned<Lookup>(n_samples * stride_)) {
  if (!rows.has_signs()) return;
  const int row_bits = static_cast<int>(std::bit_width(rows.n_rows() - 1));
  const int group_bits = static_cast<int>(std::bit_width(std::clamp<std::size_t>(rows.n_hashes() / 8, 8, 128)));
  low_bits_ = std::max(row_bits - group_bits, 0);
  n_groups_ = ((rows.n_rows() - 1) >> low_bits_) + 1;
  grouped_ = aligned<Lookup>(n_samples * stride_);
  begins_ = aligned<std::uint32_t>(n_samples * (n_groups_ + 1));
}

void BatchLookups::fill(std::size_t sample, const CodeRows& codes, std::size_t row) {
  Lookup* lookups = lookups_.get() + sample * stride_;
  codes.lookups(rows_, row, lookups);
  if (!rows_.has_signs()) return;
  const std::size_t n_hashes = rows_.n_hashes();
  const auto group_of = [&](Lookup lookup) { return std::size_t{lookup >> 1} >> low_bits_; };
  std::uint32_t* begins = begins_.get() + sample * (n_groups_ + 1);
  std::fill_n(begins, n_groups_ + 1, 0u);
  for (std::size_t j = 0; j < n_hashes; ++j) ++begins[group_of(lookups[j])];
  std::uint32_t before = 0;
  for (std::size_t group = 0; group <= n_groups_; ++group) {
    before += begins[group];
    begins[group] = before;
  }
  Lookup* grouped = grouped_.get() + sample * stride_;
  for (std::size_t j = n_hashes; j-- > 0;) grouped[--begins[group_of(lookups[j])]] = lookups[j];
}

std::size_t BatchLookups::n_lookups(std::size_t begin, std::size_t end, std::size_t n) const {
  if (!rows_.has_signs()) return (end - begin) * n;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* begins = begins_.get() + i * (n_groups_ + 1);
    sum += begins[end] - begins[begin];
  }
  return sum;
}

std::size_t BatchLookups::collect(std::size_t group, std::size_t n, RowAndLookup* to) const {
  if (!rows_.has_signs()) {
    const Lookup* lookup = lookups_.get() + group;
    for (std::size_t i = 0; i < n; ++i) to[i] = sort_key(lookup[i * stride_], i);
    return n;
  }
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* begins = begins_.get() + i * (n_groups_ + 1);
    const Lookup* grouped = grouped_.get() + i * stride_;
    for (std::size_t at = begins[group]; at < begins[group + 1]; ++at) to[n_found++] = sort_key(grouped[at], i);
  }
  return n_found;
}

namespace {

// Lookups in groups of adjacent rows, which threads sort apart. Within a group they are in the order of the samples,
// and of the hashes within a sample.
struct Groups {
  std::vector<std::size_t> first;  // where each group begins, and the end of the last
  int low_bits;                    // of a row: those by which the rows of one group differ
  Aligned<RowAndLookup> lookups;   // null for groups that are the columns of the codes

  std::size_t n() const { return first.size() - 1; }
  std::size_t size(std::size_t group) const { return first[group + 1] - first[group]; }
};

template <class Code>
RowAndLookup sort_key(const CodeToRow& rows, const CodeMatrix<Code>& codes, std::size_t sample, std::size_t hash) {
  return sort_key(rows(hash, static_cast<std::uint64_t>(codes.codes[sample * codes.n_hashes + hash])), sample);
}

// Without a sketch each hash has rows of its own, and each sample looks up one of them.
template <class Code>
Groups groups_by_hash(const CodeToRow& rows, const CodeMatrix<Code>& codes) {
  Groups groups{std::vector<std::size_t>(codes.n_hashes + 1), rows.bits(), nullptr};
  for (std::size_t j = 0; j <= codes.n_hashes; ++j) groups.first[j] = j * codes.n_samples;
  return groups;
}

// Otherwise lookups are put into groups by the high bits of their rows: counted, then placed.
template <class Code>
Groups groups_by_high_bits(const CodeToRow& rows, const CodeMatrix<Code>& codes, int n_threads) {
  constexpr std::size_t kLookupsPerGroup = 64, kMaxGroups = 1024;
  const std::size_t n_hashes = codes.n_hashes, n_lookups = codes.n_samples * n_hashes;
  const int row_bits = static_cast<int>(std::bit_width(rows.n_rows() - 1));
  const int group_bits = static_cast<int>(std::bit_width(std::min(n_lookups / kLookupsPerGroup, kMaxGroups)));
  Groups groups{{}, std::max(row_bits - group_bits, 0), aligned<RowAndLookup>(n_lookups)};
  const std::size_t n_groups = ((rows.n_rows() - 1) >> groups.low_bits) + 1;
  const auto group_of = [&](RowAndLookup lookup) { return std::size_t{row_of(lookup)} >> groups.low_bits; };

  // The lookups of a part keep their order, and so do the parts: into how many parts a batch is cut changes nothing.
  const std::size_t n_parts = n_threads == 1 ? 1 : 4 * static_cast<std::size_t>(n_threads);
  const std::size_t samples_per_part = blocks_of(codes.n_samples, n_parts);
  const Aligned<RowAndLookup> in_order = aligned<RowAndLookup>(n_lookups);
  std::vector<std::size_t> places(n_parts * n_groups);
  const auto for_each_part = [&](auto work) {
    StopToken stop_token = StopToken::never();
    for_each_block(n_parts, n_threads, stop_token, [&] {
      return [&](std::size_t part) {
        const std::size_t begin = std::min(part * samples_per_part, codes.n_samples);
        const std::size_t end = std::min(begin + samples_per_part, codes.n_samples);
        work(begin, end, places.data() + part * n_groups);
      };
    });
  };
  for_each_part([&](std::size_t begin, std::size_t end, std::size_t* count) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < n_hashes; ++j) {
        const RowAndLookup lookup = sort_key(rows, codes, i, j);
        in_order[i * n_hashes + j] = lookup;
        ++count[group_of(lookup)];
      }
    }
  });
  std::size_t before = 0;
  for (std::size_t group = 0; group < n_groups; ++group) {
    groups.first.push_back(before);
    for (std::size_t part = 0; part < n_parts; ++part) before += std::exchange(places[part * n_groups + group], before);
  }
  groups.first.push_back(before);
  for_each_part([&](std::size_t begin, std::size_t end, std::size_t* place) {
    for (std::size_t p = begin * n_hashes; p < end * n_hashes; ++p) {
      groups.lookups[place[group_of(in_order[p])]++] = in_order[p];
    }
  });
  return groups;
}

}  // namespace

template <class Code>
LookupsByRow::LookupsByRow(const CodeToRow& rows, const CodeMatrix<Code>& codes, int n_threads)
    : n_samples_(codes.n_samples),
      n_table_rows_(rows.n_rows()),
      n_lookups_(codes.n_samples * codes.n_hashes),
      has_signs_(rows.has_signs()),
      lookups_(aligned<Lookup>(n_lookups_)),
      row_of_(aligned<std::uint32_t>(n_lookups_)),
      first_(aligned<std::size_t>(n_lookups_ + 1)) {
  constexpr std::size_t kWorthAThread = 1 << 12, kLookupsPerBlock = 512;
  first_[0] = 0;
  if (n_lookups_ == 0) return;
  n_threads = useful_threads(n_threads, n_lookups_ / kWorthAThread);
  const bool by_hash = !has_signs_ && rows.bits() <= LookupSort::kMaxCountedBits;
  const Groups groups = by_hash ? groups_by_hash(rows, codes) : groups_by_high_bits(rows, codes, n_threads);

  // The rows of a group first stand where its lookups do: there are at most as many.
  std::vector<std::size_t> n_rows(groups.n());
  const std::size_t per_block = std::max<std::size_t>(1, kLookupsPerBlock * groups.n() / n_lookups_);
  StopToken stop_token = StopToken::never();
  for_each_block(blocks_of(groups.n(), per_block), n_threads, stop_token, [&] {
    return [&, column = std::vector<RowAndLookup>(by_hash ? n_samples_ : 0),
            sort = LookupSort(groups.low_bits)](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * per_block, groups.n());
      for (std::size_t group = block * per_block; group < end; ++group) {
        const std::size_t begin = groups.first[group], n = groups.size(group);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] = sort_key(rows, codes, i, group);
        RowAndLookup* lookups = by_hash ? column.data() : groups.lookups.get() + begin;
        const SortedGroup to{lookups_.get() + begin, row_of_.get() + begin, first_.get() + begin + 1, begin};
        n_rows[group] = sort(lookups, n, to);
      }
    };
  });
  for (std::size_t group = 0; group < groups.n(); ++group) {
    const std::size_t from = groups.first[group];
    for (std::size_t row = from; row < from + n_rows[group]; ++row) {
      row_of_[n_rows_used_] = row_of_[row];
      first_[++n_rows_used_] = first_[row + 1];
    }
  }
}

namespace {
constexpr std::size_t kRowsPerBlock = 32;
}

void LookupsByRow::row_sums(const float* gradient, std::size_t width, std::int64_t* rows, float* sums,
                            int n_threads) const {
  const NetFunctions& functions = chosen_instruction_set().net;
  n_threads = useful_threads(n_threads, n_lookups_ * width / kMinNumbersPerThread);
  StopToken stop_token = StopToken::never();
  for_each_block(blocks_of(n_rows_used_, kRowsPerBlock), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n_rows_used_);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        rows[r] = static_cast<std::int64_t>(row_of_[r]);
        float* sum = sums + r * width;
        std::fill_n(sum, width, 0.0f);
        functions.add_rows(gradient, width, lookups(r), 0, 0, sum);
      }
    };
  });
}

void LookupsByRow::adam(const AdamStep& step, const float* gradient, std::size_t width, float* table, float* mean,
                        float* square, int n_threads) const {
  constexpr std::size_t kRowsAhead = 2;
  const NetFunctions& functions = chosen_instruction_set().net;
  const auto adam_row = [&](std::size_t r) {
    const std::size_t at = std::size_t{row_of_[r]} * width;
    return AdamRow{table + at, mean == nullptr ? nullptr : mean + at, square + at};
  };
  n_threads = useful_threads(n_threads, n_lookups_ * width / kMinNumbersPerThread);
  StopToken stop_token = StopToken::never();
  for_each_block(blocks_of(n_rows_used_, kRowsPerBlock), n_threads, stop_token, [&] {
    return [&, work = std::vector<float>(2 * width)](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n_rows_used_);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        if (r + kRowsAhead < n_rows_used_) functions.prefetch_adam_row(adam_row(r + kRowsAhead), width);
        functions.adam_row(step, gradient, width, lookups(r), work.data(), adam_row(r));
      }
    };
  });
}

#define GCWSNET_FOR_CODES(Code) template LookupsByRow::LookupsByRow(const CodeToRow&, const CodeMatrix<Code>&, int);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::int32_t)
GCWSNET_FOR_CODES(std::int64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
