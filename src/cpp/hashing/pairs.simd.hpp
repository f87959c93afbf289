// Algorithm 1 on pairs of a feature and a hash, sixteen at a time: for bin-wise sampling, where each entry meets few
// hashes.
#pragma once

#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// function(at, parameters) for sixteen pairs from number `at` on, and so on, in whole packs as far as the pairs go.
template <class Function>
GCWSNET_INLINE void for_each_pack(const Pairs& pairs, const HashKeys* hashes, Function function) {
  constexpr std::uint32_t kNumbers = sizeof(HashKeys) / 4;
  ParameterPacks packs;
  for (std::size_t from = 0; from < pairs.n; from += ParameterPacks::kMax * kLanes) {
    const std::size_t rest = (pairs.n - from + kLanes - 1) / kLanes;
    const std::size_t n = rest < ParameterPacks::kMax ? rest : ParameterPacks::kMax;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = from + i * kLanes;
      const Words hash = load<Words>(pairs.hash + at), low = load<Words>(pairs.low + at),
                  high = load<Words>(pairs.high + at);
      const Words place = (hash >> 4) * words(kNumbers) + (hash & words(kLanes - 1));
      Words h[4];
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w) {
        h[w] = word(low ^ gathered<Words>(hashes[0].low[w], place), high ^ gathered<Words>(hashes[0].high[w], place));
      }
      packs.set(i, h[0], h[1], h[2], h[3]);
    }
    packs.take_logarithms(n);
    for (std::size_t i = 0; i < n; ++i) function(from + i * kLanes, packs.at(i));
  }
}

inline void fill_pairs(const Pairs& pairs, const HashKeys* hashes, const PairTable& table) {
  for_each_pack(pairs, hashes, [&](std::size_t at, const Parameters& q) {
    store(table.inverse_r + at, q.inverse_r);
    store(table.beta + at, q.beta);
    store(table.offset + at, q.offset);
    store(table.r + at, q.r);
  });
}

// `order` ascends with a as a whole number does: the sign goes up, and negative numbers are turned round.
GCWSNET_INLINE void write_order_and_t(const Floats& L, const Parameters& q, std::uint32_t* order, float* t) {
  const Floats whole = floor(L * q.inverse_r + q.beta);
  const Words a = bits<Words>(q.offset - q.r * whole + floats(0.0f));  // minus zero becomes zero, here and below
  const Words negative = Words{} - (a >> 31);
  store(order, a ^ (negative | words(0x80000000u)));
  store(t, whole + floats(0.0f));
}

// The order of a and t of each pair; L, order and t have whole packs.
inline void scan_pairs(const Pairs& pairs, const float* L, const HashKeys* hashes, std::uint32_t* order, float* t) {
  for_each_pack(pairs, hashes, [&](std::size_t at, const Parameters& q) {
    write_order_and_t(load<Floats>(L + at), q, order + at, t + at);
  });
}

// The same for the entries of a row, each with the hash that the table has for its feature.
inline void scan_tabled_pairs(const Entries& row, const PairTable& table, std::uint32_t* order, float* t) {
  for (std::size_t at = 0; at < row.n; at += kLanes) {
    std::uint32_t feature[kLanes] = {};
    float L[kLanes] = {};
    const std::size_t here = row.n - at < kLanes ? row.n - at : kLanes;
    __builtin_memcpy(feature, row.feature + at, here * sizeof feature[0]);
    __builtin_memcpy(L, row.L + at, here * sizeof L[0]);
    const Words places = load<Words>(feature);
    write_order_and_t(load<Floats>(L),
                      {gathered<Floats>(table.inverse_r, places), gathered<Floats>(table.beta, places),
                       gathered<Floats>(table.offset, places), gathered<Floats>(table.r, places)},
                      order + at, t + at);
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
