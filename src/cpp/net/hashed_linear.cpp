#include "net/hashed_linear.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/parallel.hpp"
#include "dispatch.hpp"

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
void sum_rows(const CodeToRow& rows, const CodeMatrix<Code>& codes, const float* table, const float* bias,
              std::size_t width, float* out, int n_threads) {
  const NetFunctions& functions = chosen_instruction_set().net;
  const std::size_t n_hashes = codes.n_hashes;
  // A few hashes of a few samples at a time: a row that two samples use is still near for the second one. Two blocks
  // for each thread at least, so that a thread that comes late takes less.
  constexpr std::size_t kSamples = 32, kHashes = 64, kAhead = 8;
  n_threads = useful_threads(n_threads, codes.n_samples * n_hashes * width / kMinNumbersPerThread);
  const std::size_t share =
      n_threads == 1 ? codes.n_samples : codes.n_samples / (2 * static_cast<std::size_t>(n_threads));
  const std::size_t step = std::clamp<std::size_t>(share, 1, kSamples);
  StopToken stop_token = StopToken::never();
  for_each_block(blocks_of(codes.n_samples, step), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      const std::size_t begin = block * step, end = std::min(begin + step, codes.n_samples);
      for (std::size_t i = begin; i < end; ++i) std::copy_n(bias, width, out + i * width);
      Lookup lookups[kHashes];
      for (std::size_t j0 = 0; j0 < n_hashes; j0 += kHashes) {
        const std::size_t n = std::min(kHashes, n_hashes - j0);
        for (std::size_t i = begin; i < end; ++i) {
          const Code* code = codes.codes + i * n_hashes + j0;
          for (std::size_t j = 0; j < n; ++j) lookups[j] = rows(j0 + j, static_cast<std::uint64_t>(code[j]));
          functions.add_rows(table, width, {lookups, n, rows.has_signs()}, kAhead, n, out + i * width);
        }
      }
    };
  });
}

void adam(const AdamStep& step, const float* gradient, std::size_t n, const AdamRow& row, int n_threads) {
  constexpr std::size_t kPart = 4096;  // is one row, whose gradient is the only row looked up
  constexpr Lookup kOnly = 0;
  const NetFunctions& functions = chosen_instruction_set().net;
  n_threads = useful_threads(n_threads, n / kMinNumbersPerThread);
  StopToken stop_token = StopToken::never();
  for_each_block(blocks_of(n, kPart), n_threads, stop_token, [&] {
    return [&, work = std::vector<float>(std::min(n, kPart))](std::size_t part) mutable {
      const std::size_t at = part * kPart;
      const AdamRow here{row.weight + at, row.mean == nullptr ? nullptr : row.mean + at, row.square + at};
      functions.adam_row(step, gradient + at, std::min(kPart, n - at), {&kOnly, 1, false}, work.data(), here);
    };
  });
}

#define GCWSNET_FOR_CODES(Code)                                                                                      \
  template void check_codes(const CodeMatrix<Code>&, int);                                                           \
  template void sum_rows(const CodeToRow&, const CodeMatrix<Code>&, const float*, const float*, std::size_t, float*, \
                         int);
GCWSNET_FOR_CODES(std::uint8_t)
GCWSNET_FOR_CODES(std::uint16_t)
GCWSNET_FOR_CODES(std::uint32_t)
GCWSNET_FOR_CODES(std::int32_t)
GCWSNET_FOR_CODES(std::int64_t)
#undef GCWSNET_FOR_CODES

}  // namespace gcwsnet
