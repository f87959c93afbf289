#include "samplers/minwise.hpp"

#include <algorithm>
#include <limits>

namespace gcwsnet {

namespace {

class RowByWords : public RowSampler {
 public:
  RowByWords(const InstructionSet& set, const SampleKeys& keys, StopSign& stop_sign)
      : RowSampler(stop_sign), set_(set), keys_(keys) {}

 private:
  static constexpr std::size_t kAtOnce = 1024, kBlocksBetweenPolls = 64;

  void sample_row(const Entries& row, const Samples& samples) override {
    least_.assign(keys_.padded_hashes(), std::numeric_limits<std::int32_t>::max());
    std::fill_n(samples.i, keys_.padded_hashes(), row.feature[0]);
    std::fill_n(samples.t, keys_.padded_hashes(), 0.0f);
    for (std::size_t from = 0; from < row.n; from += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, row.n - from);
      for (std::size_t e = 0; e < n; ++e) {
        const Key key = keys_.feature(row.feature[from + e]);
        key_[e] = {key.low ^ (key.low >> 16), key.high};
      }
      for (std::size_t block = 0; block < keys_.n_blocks(); ++block) {
        if (block % kBlocksBetweenPolls == 0) stop_sign_.poll();
        const std::size_t at = block * kHashBlock;
        set_.least_words({row.feature + from, nullptr, key_, n}, keys_.hash_block(block), least_.data() + at,
                         samples.i + at);
      }
    }
  }

  const InstructionSet& set_;
  const SampleKeys& keys_;
  std::vector<std::int32_t> least_;
  Key key_[kAtOnce];  // with the low half folded
};

}  // namespace

MakeBatchSampler Minwise::start(const InstructionSet& set, const MatrixSummary&, int, StopSign& stop_sign) {
  return [this, &set, &stop_sign] { return std::make_unique<RowByWords>(set, keys_, stop_sign); };
}

}  // namespace gcwsnet
