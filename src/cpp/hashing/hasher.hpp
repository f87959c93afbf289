// Samples and codes of the rows of a matrix. The hasher shares the rows among threads and encodes; a sampler draws.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "hashing/sampler.hpp"

namespace gcwsnet {

class Hasher {
 public:
  enum class Method { kGcws, kRejection, kBinwise, kExtremal, kMinwise };

  // Tables take at most `table_bytes`. `scan` is for GCWS.
  Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes, Scan scan,
         Method method);
  Hasher(const Hasher&) = delete;  // the sampler refers to the keys
  Hasher& operator=(const Hasher&) = delete;

  std::size_t n_columns() const { return keys_.n_columns(); }
  std::size_t n_hashes() const { return keys_.n_hashes(); }
  Sampler& sampler() { return *sampler_; }

  // i* and t*, rows x n_hashes each; -1 and 0 for a row without non-zero entries.
  void samples(const RowSource& rows, const ReadOptions& how, std::int64_t* i_star, std::int64_t* t_star, int n_threads,
               StopToken& stop_token);

  // Codes, rows x n_hashes, of one of the unsigned types.
  template <class Code>
  void codes(const RowSource& rows, const ReadOptions& how, const Encoding& encoding, Code* out, int n_threads,
             StopToken& stop_token);

 private:
  // Takes the samples of a row, padded_hashes() of them.
  using Sink = std::function<void(const HashingFunctions& functions, std::size_t row, const Samples& samples)>;
  void hash(const RowSource& rows, const ReadOptions& how, int n_threads, StopToken& stop_token, const Sink& sink);

  const SampleKeys keys_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::uint32_t> salts_low_, salts_high_;
};

}  // namespace gcwsnet
