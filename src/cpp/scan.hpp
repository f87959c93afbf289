// Algorithm 1 on one row and sixteen hashes: the full scan over the row's non-zero entries, or over a further piece of them.
#pragma once

#include "parameters.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The smallest a of each hash so far, with its t and its feature.
class Best {
 public:
  GCWSNET_INLINE explicit Best(const Samples& at) : a_(load<Floats>(at.a)), t_(load<Floats>(at.t)), i_(load<Words>(at.i)) {}

  GCWSNET_INLINE Best(const Floats& a, const Floats& t, const Words& i) : a_(a), t_(t), i_(i) {}

  GCWSNET_INLINE const Floats& a() const { return a_; }

  // Features in any order: on a tie the lowest wins, which must be said.
  GCWSNET_INLINE void consider_unordered(const Words& feature, const Floats& L, const Parameters& q) {
    const Floats t = floor(L * q.inverse_r + q.beta);
    const Floats a = q.offset - q.r * t;
    const Ints better = (a < a_) | ((a == a_) & (bits<Ints>(feature) < bits<Ints>(i_)));
    a_ = select(better, a, a_);
    t_ = select(better, t, t_);
    i_ = select(better, feature, i_);
  }

  // Entries come in ascending order of their feature, so on a tie the lowest feature stays.
  GCWSNET_INLINE void consider(std::uint32_t feature, float L, const Parameters& q) {
    const Floats t = floor(floats(L) * q.inverse_r + q.beta);
    const Floats a = q.offset - q.r * t;
    const Ints better = a < a_;
    a_ = select(better, a, a_);
    t_ = select(better, t, t_);
    i_ = select(better, words(feature), i_);
  }

  GCWSNET_INLINE void write(const Samples& at) const {
    store(at.a, a_);
    store(at.t, t_ + floats(0.0f));  // minus zero becomes zero
    store(at.i, i_);
  }

 private:
  Floats a_, t_;
  Words i_;
};

// `table` holds the parameters of all features for these sixteen hashes. If it is too large for the nearest cache, `far`,
// what will be needed is asked for ahead.
template <bool far>
GCWSNET_INLINE void scan_entries(const Entries& row, const float* table, Best& best) {
  for (std::size_t e = 0; e < row.n; ++e) {
    if constexpr (far) {
      const std::size_t ahead = e + kPrefetch < row.n ? e + kPrefetch : row.n - 1;
      const float* later = table + std::size_t{row.feature[ahead]} * kTableRow;
#pragma GCC unroll 4
      for (int line = 0; line < 4; ++line) __builtin_prefetch(later + line * kHashBlock);
    }
    best.consider(row.feature[e], row.L[e], load_parameters(table + std::size_t{row.feature[e]} * kTableRow));
  }
}
inline void scan_table(const Entries& row, const float* table, bool far, const Samples& samples) {
  Best best(samples);
  if (far) {
    scan_entries<true>(row, table, best);
  } else {
    scan_entries<false>(row, table, best);
  }
  best.write(samples);
}

// The parameters are generated from the keys, entry by entry.
inline void scan_generated(const Entries& row, const HashKeys& hashes, const Samples& samples) {
  Best best(samples);
  for (std::size_t e = 0; e < row.n; ++e) {
    best.consider(row.feature[e], row.L[e], parameters(row.key[e], hashes));
  }
  best.write(samples);
}

// Sixteen numbers of sixteen bits, in one register or two.
inline constexpr int kRankLanes = kRegisterLanes < 8 ? 8 : 16;
inline constexpr int kRankParts = kLanes / kRankLanes;
typedef std::int16_t RankRegister __attribute__((vector_size(2 * kRankLanes)));
struct Ranks {
  RankRegister part[kRankParts];
};

GCWSNET_INLINE Ranks ranks_of(const std::int16_t* table, std::uint32_t feature, int shift) {
  Ranks ranks;
  const std::int16_t* from = table + std::size_t{feature >> shift} * kLanes;
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

// A 0/1 row of at most kMostOnes entries by the ranks of its features (see fill_ranks). Returns 0 if each hash has one
// feature of the least rank: its sample. Else how many entries have the least rank of some hash; they are written to `rivals`.
inline std::size_t scan_ranks(const Entries& row, const std::int16_t* ranks, int shift, const Samples& samples,
                              std::uint32_t* rivals) {
  if (row.n == 0) {
    store(samples.t, floats(__builtin_nanf("")));
    store(samples.i, words(kNoFeature));
    return 0;
  }
  Ranks least = ranks_of(ranks, row.feature[0], shift), shared = {}, place = {};
  for (std::size_t e = 1; e < row.n; ++e) {
    const std::size_t ahead = e + kPrefetch < row.n ? e + kPrefetch : row.n - 1;
    __builtin_prefetch(ranks + std::size_t{row.feature[ahead] >> shift} * kLanes);
    const Ranks here = ranks_of(ranks, row.feature[e], shift);
    const RankRegister at = RankRegister{} + static_cast<std::int16_t>(e);  // above 32767 it is read as unsigned below
#pragma GCC unroll 2
    for (int i = 0; i < kRankParts; ++i) {
      const RankRegister better = here.part[i] < least.part[i];
      shared.part[i] = (shared.part[i] | (here.part[i] == least.part[i])) & ~better;
      least.part[i] = (here.part[i] & better) | (least.part[i] & ~better);
      place.part[i] = (at & better) | (place.part[i] & ~better);
    }
  }
  if (!any_of(shared)) {
    std::uint16_t places[kLanes];
    __builtin_memcpy(places, &place, sizeof places);
    for (int lane = 0; lane < kLanes; ++lane) samples.i[lane] = row.feature[places[lane]];
    store(samples.t, floats(0.0f));
    return 0;
  }
  std::size_t n = 0;
  for (std::size_t e = 0; e < row.n; ++e) {
    Ranks equal = ranks_of(ranks, row.feature[e], shift);
    for (int i = 0; i < kRankParts; ++i) equal.part[i] = equal.part[i] == least.part[i];
    rivals[n] = static_cast<std::uint32_t>(e);
    n += any_of(equal);
  }
  return n;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
