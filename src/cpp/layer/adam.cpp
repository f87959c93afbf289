#include "layer/adam.hpp"

#include <algorithm>

#include "base/instruction_set.hpp"
#include "base/parallel.hpp"

namespace gcwsnet {

void adam(const AdamStep& step, const float* gradient, std::size_t n, const AdamRow& row, int n_threads) {
  constexpr std::size_t kPart = 4096;  // is one row, of which the gradient's only row is picked
  constexpr RowPick kOnly = 0;
  const InstructionSet& set = chosen_instruction_set();
  n_threads = useful_threads(n_threads, n / kNumbersWorthAThread);
  StopSign stop_sign = StopSign::never();
  for_each_block((n + kPart - 1) / kPart, n_threads, stop_sign, [&] {
    return [&, work = std::vector<float>(std::min(n, kPart))](std::size_t part) mutable {
      const std::size_t at = part * kPart;
      const AdamRow here{row.weight + at, row.mean == nullptr ? nullptr : row.mean + at, row.square + at};
      set.adam_row(step, gradient + at, std::min(kPart, n - at), {&kOnly, 1, false}, work.data(), here);
    };
  });
}

}  // namespace gcwsnet
