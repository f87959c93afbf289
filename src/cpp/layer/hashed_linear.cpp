#include "layer/hashed_linear.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/parallel.hpp"

namespace gcwsnet {

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
  // A few hashes of a few samples at a time: what two samples both pick is still near when the second one does. Two blocks
  // for each thread at least, so that a thread that comes late takes less.
  constexpr std::size_t kSamples = 32, kHashes = 64, kAhead = 8;
  n_threads = useful_threads(n_threads, codes.n_samples * n_hashes * width / kNumbersWorthAThread);
  const std::size_t share = n_threads == 1 ? codes.n_samples : codes.n_samples / (2 * static_cast<std::size_t>(n_threads));
  const std::size_t step = std::clamp<std::size_t>(share, 1, kSamples);
  StopSign stop_sign = StopSign::never();
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
          set.add_rows(table, width, {picks, n, rows.has_signs()}, kAhead, n, out + i * width);
        }
      }
    };
  });
}

#define GCWSNET_FOR_CODES(Code)                                                                                  \
  template void check_codes(const CodeMatrix<Code>&, int);                                                       \
  template void sum_of_picks(const RowOfCode&, const CodeMatrix<Code>&, const float*, const float*, std::size_t, \
                             float*, int);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::int32_t)
GCWSNET_FOR_CODES(std::int64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
