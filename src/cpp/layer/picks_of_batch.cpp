#include "layer/picks_of_batch.hpp"

namespace gcwsnet {

namespace {

RowAndPick row_and_pick(RowPick pick, std::size_t sample) {
  return static_cast<RowAndPick>(pick >> 1) << 32 | (sample << 1) | (pick & 1);
}

}  // namespace

PicksOfBatch::PicksOfBatch(const RowOfCode& rows, std::size_t n_samples)
    : rows_(rows),
      stride_(rows.n_hashes() + 16),  // no power of two: the picks of one hash would share few places of a cache
      n_groups_(rows.n_hashes()),
      low_bits_(rows.bits()),
      picks_(aligned<RowPick>(n_samples * stride_)) {
  if (!rows.has_signs()) return;
  const int row_bits = static_cast<int>(std::bit_width(rows.n_rows() - 1));
  const int group_bits = static_cast<int>(std::bit_width(std::clamp<std::size_t>(rows.n_hashes() / 8, 8, 128)));
  low_bits_ = std::max(row_bits - group_bits, 0);
  n_groups_ = ((rows.n_rows() - 1) >> low_bits_) + 1;
  grouped_ = aligned<RowPick>(n_samples * stride_);
  begins_ = aligned<std::uint32_t>(n_samples * (n_groups_ + 1));
}

void PicksOfBatch::fill(std::size_t sample, const CodeRows& codes, std::size_t row) {
  RowPick* picks = picks_.get() + sample * stride_;
  codes.picks(rows_, row, picks);
  if (!rows_.has_signs()) return;
  const std::size_t n_hashes = rows_.n_hashes();
  const auto group_of = [&](RowPick pick) { return std::size_t{pick >> 1} >> low_bits_; };
  std::uint32_t* begins = begins_.get() + sample * (n_groups_ + 1);
  std::fill_n(begins, n_groups_ + 1, 0u);
  for (std::size_t j = 0; j < n_hashes; ++j) ++begins[group_of(picks[j])];
  std::uint32_t before = 0;
  for (std::size_t group = 0; group <= n_groups_; ++group) {
    before += begins[group];
    begins[group] = before;
  }
  RowPick* grouped = grouped_.get() + sample * stride_;
  for (std::size_t j = n_hashes; j-- > 0;) grouped[--begins[group_of(picks[j])]] = picks[j];
}

std::size_t PicksOfBatch::n_picks(std::size_t begin, std::size_t end, std::size_t n) const {
  if (!rows_.has_signs()) return (end - begin) * n;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* begins = begins_.get() + i * (n_groups_ + 1);
    sum += begins[end] - begins[begin];
  }
  return sum;
}

std::size_t PicksOfBatch::collect(std::size_t group, std::size_t n, RowAndPick* to) const {
  if (!rows_.has_signs()) {
    const RowPick* pick = picks_.get() + group;
    for (std::size_t i = 0; i < n; ++i) to[i] = row_and_pick(pick[i * stride_], i);
    return n;
  }
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* begins = begins_.get() + i * (n_groups_ + 1);
    const RowPick* grouped = grouped_.get() + i * stride_;
    for (std::size_t at = begins[group]; at < begins[group + 1]; ++at) to[n_found++] = row_and_pick(grouped[at], i);
  }
  return n_found;
}

}  // namespace gcwsnet
