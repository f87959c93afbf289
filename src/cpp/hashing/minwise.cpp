#include <algorithm>
#include <limits>

#include "hashing/sampler.hpp"

namespace gcwsnet {

namespace {

class MinwiseRowSampler : public RowSampler {
 public:
  MinwiseRowSampler(const HashingFunctions& functions, const SampleKeys& keys, StopToken& stop_token)
      : RowSampler(stop_token), functions_(functions), keys_(keys) {}

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
        if (block % kBlocksBetweenPolls == 0) stop_token_.poll();
        const std::size_t at = block * kHashBlock;
        functions_.min_words({row.feature + from, nullptr, key_, n}, keys_.hash_block(block), least_.data() + at,
                             samples.i + at);
      }
    }
  }

  const HashingFunctions& functions_;
  const SampleKeys& keys_;
  std::vector<std::int32_t> least_;
  Key key_[kAtOnce];  // with the low half folded
};

class Minwise : public Sampler {
 public:
  explicit Minwise(const SampleKeys& keys) : keys_(keys) {}

  MakeBatchSampler start(const HashingFunctions& functions, const RowSource&, int, StopToken& stop_token) override {
    return
        [this, &functions, &stop_token] { return std::make_unique<MinwiseRowSampler>(functions, keys_, stop_token); };
  }

 private:
  const SampleKeys& keys_;
};

}  // namespace

std::unique_ptr<Sampler> make_minwise(const SampleKeys& keys) { return std::make_unique<Minwise>(keys); }

}  // namespace gcwsnet
