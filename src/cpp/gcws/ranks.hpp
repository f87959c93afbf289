// 0/1 rows. Where L = 0, t = floor(beta) = 0 and a is the offset: each feature has one a for a hash. Its rank are sixteen bits
// that never fall as a rises, in steps of 24 / 2^16. exp(a) of the best of n features is near 1 / n, so few features share
// the rank of the best, however many there are; those that do are compared by their parameters.
#pragma once

#include "gcws/parameters.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The ranks of n features for one block of sixteen hashes.
inline void fill_ranks(const Key* features, std::size_t n, const HashKeys& hashes, std::int16_t* ranks) {
  for (std::size_t i = 0; i < n; ++i) {
    const Floats place = (parameters(features[i], hashes).offset + floats(8.0f)) * floats(0x1p16f / 24.0f);
    std::int32_t rank[kLanes];
    store(rank, to_ints(maximum(minimum(place, floats(32767.0f)), floats(-32768.0f))));
    for (int lane = 0; lane < kLanes; ++lane) ranks[i * kLanes + lane] = static_cast<std::int16_t>(rank[lane]);
  }
}

// Sixteen numbers of sixteen bits, in one register or two.
inline constexpr int kRankLanes = kRegisterLanes < 8 ? 8 : 16;
inline constexpr int kRankParts = kLanes / kRankLanes;
typedef std::int16_t RankRegister __attribute__((vector_size(2 * kRankLanes)));
typedef std::uint16_t CountRegister __attribute__((vector_size(2 * kRankLanes)));
struct Ranks {
  RankRegister part[kRankParts];
};

GCWSNET_INLINE Ranks load_ranks(const std::int16_t* from) {
  Ranks ranks;
#pragma GCC unroll 2
  for (int i = 0; i < kRankParts; ++i) {
    RankRegister part;
    __builtin_memcpy(&part, from + i * kRankLanes, sizeof part);
    ranks.part[i] = part;
  }
  return ranks;
}
GCWSNET_INLINE bool any_of(const Ranks& ranks) {
  std::uint64_t bits[sizeof ranks / 8];
  __builtin_memcpy(bits, &ranks, sizeof ranks);
  return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
}

// The least rank of each hash, the entry that has it first, and whether another one has it too.
struct LeastRanks {
  Ranks rank, entry = {}, shared = {};
};
template <int shift, bool far>
GCWSNET_INLINE LeastRanks least_ranks(const Entries& row, const std::int16_t* ranks) {
  const auto of_entry = [&](std::size_t e) { return ranks + std::size_t{row.feature[e] >> shift} * kLanes; };
  LeastRanks least = {load_ranks(of_entry(0))};
  CountRegister here = {};
  for (std::size_t e = 1; e < row.n; ++e) {
    if constexpr (far) __builtin_prefetch(of_entry(e + kPrefetch < row.n ? e + kPrefetch : row.n - 1));
    const Ranks rank = load_ranks(of_entry(e));
    here += 1;
#pragma GCC unroll 2
    for (int i = 0; i < kRankParts; ++i) {
      const RankRegister better = rank.part[i] < least.rank.part[i];
      least.shared.part[i] = (least.shared.part[i] | (rank.part[i] == least.rank.part[i])) & ~better;
      least.rank.part[i] = better ? rank.part[i] : least.rank.part[i];
      least.entry.part[i] = better ? (RankRegister)here : least.entry.part[i];  // read as unsigned later
    }
  }
  return least;
}

template <int shift>
GCWSNET_INLINE std::size_t scan_shifted_ranks(const Entries& row, const std::int16_t* ranks, bool far, const Samples& samples,
                                              std::uint32_t* rivals) {
  const LeastRanks least = far ? least_ranks<shift, true>(row, ranks) : least_ranks<shift, false>(row, ranks);
  if (!any_of(least.shared)) {
    std::uint16_t entry[kLanes];
    __builtin_memcpy(entry, &least.entry, sizeof entry);
    for (int lane = 0; lane < kLanes; ++lane) samples.i[lane] = row.feature[entry[lane]];
    store(samples.t, floats(0.0f));
    return 0;
  }
  std::size_t n = 0;
  for (std::size_t e = 0; e < row.n; ++e) {
    Ranks equal = load_ranks(ranks + std::size_t{row.feature[e] >> shift} * kLanes);
    for (int i = 0; i < kRankParts; ++i) equal.part[i] = equal.part[i] == least.rank.part[i];
    rivals[n] = static_cast<std::uint32_t>(e);
    n += any_of(equal);
  }
  return n;
}

// A row of at most kMostOnes entries by the ranks of its features, which are `far` if they are too many for the nearest
// caches. Returns 0 if each hash has one feature of the least rank: its sample. Else how many entries have the least rank
// of some hash; they are written to `rivals`.
inline std::size_t scan_ranks(const Entries& row, const std::int16_t* ranks, int shift, bool far, const Samples& samples,
                              std::uint32_t* rivals) {
  if (row.n == 0) {
    store(samples.t, floats(__builtin_nanf("")));
    store(samples.i, words(kNoFeature));
    return 0;
  }
  return shift == 0 ? scan_shifted_ranks<0>(row, ranks, far, samples, rivals)
                    : scan_shifted_ranks<1>(row, ranks, far, samples, rivals);
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
