#include "hashed_linear.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "parallel.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kWorthAThread = 1 << 16;  // numbers to add, below which a thread costs more than it saves

int useful_threads(int n_threads, std::size_t n_numbers) {
  const std::size_t wanted = static_cast<std::size_t>(std::max(n_threads, 1));
  return static_cast<int>(std::min(wanted, 1 + n_numbers / kWorthAThread));
}

// A step takes milliseconds and must not be left half done: nothing interrupts it.
StopSign never() { return StopSign([] { return false; }); }

// Sorts by the upper half, from the lowest digit to the highest. Equal ones stay in their order.
void sort_by_row(std::vector<std::uint64_t>& keys, std::size_t n_rows) {
  const int row_bits = static_cast<int>(std::bit_width(n_rows - 1));
  const int n_digits = (row_bits + 10) / 11;
  if (n_digits == 0) return;
  const int digit_bits = (row_bits + n_digits - 1) / n_digits;
  std::vector<std::uint64_t> sorted(keys.size());
  std::vector<std::size_t> place(std::size_t{1} << digit_bits);
  for (int shift = 32; shift < 32 + row_bits; shift += digit_bits) {
    const auto digit = [&](std::uint64_t key) { return static_cast<std::size_t>(key >> shift) & (place.size() - 1); };
    std::fill(place.begin(), place.end(), 0);
    for (const std::uint64_t key : keys) ++place[digit(key)];
    std::size_t before = 0;
    for (std::size_t& count : place) before += std::exchange(count, before);
    for (const std::uint64_t key : keys) sorted[place[digit(key)]++] = key;
    keys.swap(sorted);
  }
}

}  // namespace

template <class Code>
void check_codes(const CodeMatrix<Code>& codes, int bits) {
  if (std::numeric_limits<Code>::min() == 0 && std::numeric_limits<Code>::digits <= bits) return;
  const std::uint64_t end = std::uint64_t{1} << bits;
  const std::size_t n = codes.n_samples * codes.n_hashes;
  bool fine = true;
  for (std::size_t i = 0; i < n; ++i) fine &= static_cast<std::uint64_t>(codes.codes[i]) < end;
  if (fine) return;
  const auto is_wrong = [end](Code code) { return static_cast<std::uint64_t>(code) >= end; };
  const Code* wrong = std::find_if(codes.codes, codes.codes + n, is_wrong);
  const std::size_t at = static_cast<std::size_t>(wrong - codes.codes);
  const auto text = [](auto number) { return std::to_string(number); };
  throw std::invalid_argument("codes must be from 0 to " + text(end - 1) + " with bits=" + text(bits) + ", codes[" +
                              text(at / codes.n_hashes) + ", " + text(at % codes.n_hashes) + "] is " + text(*wrong) +
                              "; give the bits of the hasher, with those that t_bits appended");
}

template <class Code>
void sum_of_picks(const RowOfCode& rows, const CodeMatrix<Code>& codes, const float* table, const float* bias,
                  std::size_t width, float* out, int n_threads) {
  const InstructionSet& set = chosen_instruction_set();
  const std::size_t n_hashes = codes.n_hashes;
  // A few hashes of a few samples at a time: what two samples both pick is still near when the second one does.
  constexpr std::size_t kSamples = 32, kHashes = 64, kAhead = 8;
  n_threads = useful_threads(n_threads, codes.n_samples * n_hashes * width);
  const std::size_t step = std::clamp<std::size_t>(codes.n_samples / static_cast<std::size_t>(n_threads), 1, kSamples);
  StopSign stop_sign = never();
  for_each_block((codes.n_samples + step - 1) / step, n_threads, stop_sign, [&] {
    return [&](std::size_t block) {
      const std::size_t begin = block * step, end = std::min(begin + step, codes.n_samples);
      for (std::size_t i = begin; i < end; ++i) std::copy_n(bias, width, out + i * width);
      RowPick picks[kHashes];
      for (std::size_t j0 = 0; j0 < n_hashes; j0 += kHashes) {
        const std::size_t n = std::min(kHashes, n_hashes - j0);
        for (std::size_t i = begin; i < end; ++i) {
          const Code* code = codes.codes + i * n_hashes + j0;
          for (std::size_t j = 0; j < n; ++j) picks[j] = rows(j0 + j, static_cast<std::uint64_t>(code[j]));
          set.add_rows(table, width, picks, n, kAhead, rows.has_signs(), out + i * width);
        }
      }
    };
  });
}

template <class Code>
PicksByRow::PicksByRow(const RowOfCode& rows, const CodeMatrix<Code>& codes)
    : n_samples_(codes.n_samples), n_table_rows_(rows.n_rows()), has_signs_(rows.has_signs()) {
  const std::size_t n_hashes = codes.n_hashes, n_picks = n_samples_ * n_hashes;
  std::vector<std::uint64_t> keys(n_picks);
  for (std::size_t i = 0; i < n_samples_; ++i) {
    for (std::size_t j = 0; j < n_hashes; ++j) {
      const RowPick pick = rows(j, static_cast<std::uint64_t>(codes.codes[i * n_hashes + j]));
      const std::uint64_t row = pick >> 1, sample_and_sign = (i << 1) | (pick & 1);
      keys[i * n_hashes + j] = row << 32 | sample_and_sign;
    }
  }
  sort_by_row(keys, n_table_rows_);
  picks_.resize(n_picks);
  for (std::size_t p = 0; p < n_picks; ++p) {
    const std::uint32_t row = static_cast<std::uint32_t>(keys[p] >> 32);
    if (row_of_.empty() || row_of_.back() != row) {
      row_of_.push_back(row);
      first_.push_back(p);
    }
    picks_[p] = static_cast<RowPick>(keys[p]);
  }
  first_.push_back(n_picks);
}

void PicksByRow::sum(const InstructionSet& set, std::size_t number, const float* gradient, std::size_t width,
                     float* to) const {
  std::fill_n(to, width, 0.0f);
  set.add_rows(gradient, width, picks_.data() + first_[number], first_[number + 1] - first_[number], 0, has_signs_, to);
}

namespace {
constexpr std::size_t kRowsPerBlock = 64;
constexpr std::size_t kRowsAhead = 2;

std::size_t n_row_blocks(std::size_t n_rows) { return (n_rows + kRowsPerBlock - 1) / kRowsPerBlock; }
}  // namespace

void PicksByRow::row_sums(const float* gradient, std::size_t width, std::int64_t* rows, float* sums,
                          int n_threads) const {
  const InstructionSet& set = chosen_instruction_set();
  const std::size_t n = n_picked_rows();
  n_threads = useful_threads(n_threads, picks_.size() * width);
  StopSign stop_sign = never();
  for_each_block(n_row_blocks(n), n_threads, stop_sign, [&] {
    return [&](std::size_t block) {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        rows[r] = static_cast<std::int64_t>(row(r));
        sum(set, r, gradient, width, sums + r * width);
      }
    };
  });
}

void PicksByRow::adam(const AdamStep& step, const float* gradient, std::size_t width, float* table, float* mean,
                      float* square, int n_threads) const {
  const InstructionSet& set = chosen_instruction_set();
  const std::size_t n = n_picked_rows();
  const auto at = [](float* numbers, std::size_t offset) { return numbers == nullptr ? nullptr : numbers + offset; };
  n_threads = useful_threads(n_threads, picks_.size() * width);
  StopSign stop_sign = never();
  for_each_block(n_row_blocks(n), n_threads, stop_sign, [&] {
    return [&, row_gradient = std::vector<float>(width)](std::size_t block) mutable {
      const std::size_t end = std::min((block + 1) * kRowsPerBlock, n);
      for (std::size_t r = block * kRowsPerBlock; r < end; ++r) {
        if (r + kRowsAhead < n) {
          const std::size_t next = row(r + kRowsAhead) * width;
          set.prefetch_adam_row(table + next, at(mean, next), square + next, width);
        }
        sum(set, r, gradient, width, row_gradient.data());
        const std::size_t here = row(r) * width;
        set.adam_row(step, row_gradient.data(), width, table + here, at(mean, here), square + here);
      }
    };
  });
}

#define GCWSNET_FOR_CODES(Code)                                                                                  \
  template void check_codes(const CodeMatrix<Code>&, int);                                                       \
  template void sum_of_picks(const RowOfCode&, const CodeMatrix<Code>&, const float*, const float*, std::size_t, \
                             float*, int);                                                                       \
  template PicksByRow::PicksByRow(const RowOfCode&, const CodeMatrix<Code>&);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::int32_t)
GCWSNET_FOR_CODES(std::int64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
