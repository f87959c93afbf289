#include "hashing/hasher.hpp"

namespace gcwsnet {

namespace {

std::unique_ptr<Sampler> make_sampler(Hasher::Method method, const SampleKeys& keys, std::size_t table_bytes,
                                      Scan scan) {
  switch (method) {
    case Hasher::Method::kRejection: return make_rejection(keys, table_bytes);
    case Hasher::Method::kBinwise: return make_binwise(keys, table_bytes);
    case Hasher::Method::kExtremal: return make_extremal(keys);
    case Hasher::Method::kMinwise: return make_minwise(keys);
    default: return make_gcws(keys, table_bytes, scan);
  }
}

KeyStream::Purpose salts_of(Hasher::Method method) {
  switch (method) {
    case Hasher::Method::kRejection: return KeyStream::Purpose::kRejectionSalts;
    case Hasher::Method::kBinwise: return KeyStream::Purpose::kBinwiseSalts;
    case Hasher::Method::kExtremal: return KeyStream::Purpose::kExtremalSalts;
    case Hasher::Method::kMinwise: return KeyStream::Purpose::kMinwiseSalts;
    default: return KeyStream::Purpose::kSalts;
  }
}

}  // namespace

Hasher::Hasher(std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes,
               Scan scan, Method method)
    : keys_(seed, 2 * n_columns, n_hashes),
      sampler_(make_sampler(method, keys_, table_bytes, scan)),
      salts_low_(keys_.padded_hashes()),
      salts_high_(keys_.padded_hashes()) {
  const KeyStream salts(seed, salts_of(method));
  for (std::size_t j = 0; j < n_hashes; ++j) {
    const Key salt = halves(salts(j));
    salts_low_[j] = salt.low;
    salts_high_[j] = salt.high;
  }
}

}  // namespace gcwsnet
