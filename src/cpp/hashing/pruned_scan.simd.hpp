// The samples of scan_generated, bit by bit, from the full parameters of only a few of the row's entries.
//
// An entry and a hash have s = ln c - r = ln(E1 u2), and a in (s - L, s - L + r]. The upper half of the hash's word 0
// leads w1 <= E1, the lower half u2 (parameters.simd.hpp). So with M the greatest L, one word instead of four says
//   a > ln(upper 2^-16) + ln(lower 2^-16) - L = ln(score 2^-32) - M  where  score = upper lower exp(M - L).
// For a block of sixteen hashes the first pass finds the entries with the least scores. They are likely to win, and are
// evaluated: the least a so far gives a bound. The second pass lists all other entries whose score lets them still win
// or tie, a few for each hash. They are evaluated sixteen at a time, each lane with an entry and a hash of its own.
//
// Why rounding loses no entry. The computed a is above ln(upper lower 2^-32) - L - 2^-24 (5 |L| + 540): each operation
// on the way is off by at most half a unit in the last place, r is under 47, log and minus_log1m are good to 2^-22 of
// their value, and raising r to kSmallestR lowers a by less than 2^-19. The scan allows for more, 2^-20 (|L| + 64) =
// 2^-24 (16 |L| + 1024) or above: 2^-20 (|M| + 64) is `slack`, and 2^-20 (M - L) is less than what the exponent of
// `factor` leaves out of M - L. The arithmetic of scores and bounds itself is good to 2^-13; 0.1% is allowed for it.
//
// Exponents are cut off where they would overflow, always so that entries are kept: a factor is at most exp(60), a
// bound at least exp(-80), and a bound cut off at exp(62) is above every score, so where |M| makes `slack` that large
// nothing is left out. A score of 0 is below every bound.
#pragma once

#include "hashing/full_scan.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr float kGreatestFactor = 60.0f, kMinBound = -80.0f, kGreatestBound = 62.0f;  // exponents
inline constexpr float kBoundScale = 0x1p32f * 1.001f;
inline constexpr std::size_t kFewEntries = 12;  // up to here the plain scan is faster

// exp(x), good to 2^-15 of its value, for |x| <= 80.
GCWSNET_INLINE Floats near_exp(const Floats& x) {
  const Floats y = x * floats(1.442695041f);
  const Floats whole = floor(y);
  const Floats f = y - whole;
  Floats q = floats(0.00187623f);
  q = q * f + floats(0.00899259f);
  q = q * f + floats(0.05582358f);
  q = q * f + floats(0.24015454f);
  q = q * f + floats(0.69315296f);
  q = q * f + floats(0.99999993f);
  return q * bits<Floats>((to_ints(whole) + ints(127)) << 23);
}

inline float greatest(const float* x, std::size_t n) {
  float out = x[0];
  for (std::size_t i = 1; i < n; ++i) out = x[i] > out ? x[i] : out;
  return out;
}

// What is the same for all hashes: the folded lower halves of the keys, and the factors exp(M - L).
inline void prepare(const Entries& row, float M, PrunedWorkspace& work) {
  for (std::size_t e = 0; e < row.n; ++e) work.low[e] = row.key[e].low ^ (row.key[e].low >> 16);
  for (std::size_t start = 0; start < row.n; start += kLanes) {
    const std::size_t here = row.n - start < kLanes ? row.n - start : kLanes;
    float L[kLanes] = {};
    __builtin_memcpy(L, row.L + start, here * sizeof(float));
    const Floats exponent = (floats(M) - load<Floats>(L)) * floats(0.999f);
    float factor[kLanes];
    store(factor, near_exp(maximum(minimum(exponent, floats(kGreatestFactor)), Floats{})));
    __builtin_memcpy(work.factor + start, factor, here * sizeof(float));
  }
}

// Fills work.score[entry][lane] for the entries from `first` up to `last`; writes the place of the least of each lane.
inline void score(const Entries& row, std::size_t first, std::size_t last, const HashKeys& hashes,
                  PrunedWorkspace& work, std::uint16_t* least_at) {
  const Words low = folded(load<Words>(hashes.low[0])), high = load<Words>(hashes.high[0]);
  Floats least = floats(__builtin_inff());
  Words entry_of_least = words(static_cast<std::uint32_t>(first));
  for (std::size_t e = first; e < last; ++e) {
    const Words h = word_of_folded(low ^ words(work.low[e]), high ^ words(row.key[e].high));
    const Floats upper = to_floats(bits<Ints>(h >> 16)), lower = to_floats(bits<Ints>(h & words(0xffffu)));
    const Floats score = upper * lower * floats(work.factor[e]);
    store(work.score + e * kLanes, score);
    entry_of_least = select(score < least, words(static_cast<std::uint32_t>(e)), entry_of_least);
    least = minimum(score, least);
  }
  std::uint32_t entry[kLanes];
  store(entry, entry_of_least);
  for (int lane = 0; lane < kLanes; ++lane) least_at[lane] = static_cast<std::uint16_t>(entry[lane] * kLanes + lane);
}

// Lists the places of the scores that are not above the bound of their lane, and returns their number. Four places are
// written each time, even if there are fewer: nobody could predict the branch that saves them.
inline std::size_t list_survivors(std::size_t n, const Floats& bound, const float* score, std::uint16_t* places) {
  std::size_t n_listed = 0;
  for (std::size_t e = 0; e < n; e += 4) {  // 64 scores are 64 bits
    std::uint64_t survivors = 0;
    for (std::size_t i = 0; i < 4 && e + i < n; ++i) {
      const Ints above = bound < load<Floats>(score + (e + i) * kLanes);
      survivors |= std::uint64_t{lanes_where(above) ^ 0xffffu} << (i * kLanes);
    }
    std::uint16_t* next = places + n_listed;
    n_listed += static_cast<std::size_t>(__builtin_popcountll(survivors));
    do {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        *next++ = static_cast<std::uint16_t>(e * kLanes + __builtin_ctzll(survivors | std::uint64_t{1} << 63));
        survivors &= survivors - 1;
      }
    } while (survivors != 0);
  }
  return n_listed;
}

// a and t of n packs of pairs of an entry and a hash, given as places in work.score.
inline void evaluate(const Entries& row, const HashKeys& hashes, const std::uint16_t* places, std::size_t n, float* a,
                     float* t) {
  ParameterPacks packs;
  float L[ParameterPacks::kMax * kLanes];
  for (std::size_t pack = 0; pack < n; ++pack) {
    std::uint32_t lane[kLanes], low[kLanes], high[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const std::size_t place = places[pack * kLanes + i], entry = place / kLanes;
      lane[i] = static_cast<std::uint32_t>(place % kLanes);
      low[i] = row.key[entry].low;
      high[i] = row.key[entry].high;
      L[pack * kLanes + i] = row.L[entry];
    }
    const Words hash = load<Words>(lane), feature_low = load<Words>(low), feature_high = load<Words>(high);
    Words h[4];
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w) {
      const Words hash_low = permuted<Words>(hashes.low[w], hash), hash_high = permuted<Words>(hashes.high[w], hash);
      h[w] = word(feature_low ^ hash_low, feature_high ^ hash_high);
    }
    packs.set(pack, h[0], h[1], h[2], h[3]);
  }
  packs.take_logarithms(n);
  for (std::size_t pack = 0; pack < n; ++pack) {
    const Parameters q = packs.at(pack);
    const Floats whole = floor(load<Floats>(L + pack * kLanes) * q.inverse_r + q.beta);
    store(a + pack * kLanes, q.offset - q.r * whole);
    store(t + pack * kLanes, whole + floats(0.0f));  // minus zero becomes zero
  }
}

// Evaluates n entries for each of the sixteen hashes. Of equal a the lowest feature wins, as in scan_generated.
inline constexpr std::size_t kBatch = ParameterPacks::kMax * kLanes;
inline void consider_likely(const Entries& row, const HashKeys& hashes, const std::uint16_t* places, std::size_t n,
                            const Samples& best) {
  float a_new[kBatch], t_new[kBatch];
  evaluate(row, hashes, places, n, a_new, t_new);
  Floats a_best = load<Floats>(best.a), t_best = load<Floats>(best.t);
  Words i_best = load<Words>(best.i);
  for (std::size_t from = 0; from < n * kLanes; from += kLanes) {
    std::uint32_t feature[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) feature[lane] = row.feature[places[from + lane] / kLanes];
    const Floats a = load<Floats>(a_new + from);
    const Words i = load<Words>(feature);
    const Ints better = (a < a_best) | ((a == a_best) & (i < i_best));
    a_best = select(better, a, a_best);
    t_best = select(better, load<Floats>(t_new + from), t_best);
    i_best = select(better, i, i_best);
  }
  store(best.a, a_best);
  store(best.t, t_best);
  store(best.i, i_best);
}

// Evaluates n pairs, in any order. To evaluate a pair twice changes nothing: place 0 fills the last pack.
inline void consider(const Entries& row, const HashKeys& hashes, std::uint16_t* places, std::size_t n,
                     const Samples& best) {
  for (std::size_t i = n; i % kLanes != 0; ++i) places[i] = 0;
  for (std::size_t start = 0; start < n; start += kBatch, places += kBatch) {
    const std::size_t here = n - start < kBatch ? n - start : kBatch;
    float a[kBatch], t[kBatch];
    evaluate(row, hashes, places, (here + kLanes - 1) / kLanes, a, t);
    for (std::size_t i = 0; i < here; ++i) {
      const std::size_t j = places[i] % kLanes;
      const std::uint32_t feature = row.feature[places[i] / kLanes];
      if (a[i] < best.a[j] || (a[i] == best.a[j] && feature < best.i[j])) {
        best.a[j] = a[i];
        best.t[j] = t[i];
        best.i[j] = feature;
      }
    }
  }
}

// One block of hashes, for entries that are prepared. Each of n_parts parts of the row gives one likely winner.
inline void scan_pruned_block(const Entries& row, float M, std::size_t n_parts, const HashKeys& hashes,
                              PrunedWorkspace& work, const Samples& best) {
  std::uint16_t likely[kBatch];
  for (std::size_t part = 0; part < n_parts; ++part) {
    score(row, part * row.n / n_parts, (part + 1) * row.n / n_parts, hashes, work, likely + part * kLanes);
  }
  consider_likely(row, hashes, likely, n_parts, best);
  for (std::size_t i = 0; i < n_parts * kLanes; ++i) work.score[likely[i]] = __builtin_inff();
  const float slack = kSlack * ((M < 0.0f ? -M : M) + kSlackOffset);
  const Floats wanted = load<Floats>(best.a) + floats(M) + floats(slack);
  const Floats exponent = maximum(minimum(wanted, floats(kGreatestBound)), floats(kMinBound));
  const Floats bound = near_exp(exponent) * floats(kBoundScale);
  const std::size_t n_survivors = list_survivors(row.n, bound, work.score, work.places);
  consider(row, hashes, work.places, n_survivors, best);
}

// The same as scan_generated for each of n_blocks blocks of hashes; `samples` are theirs, block after block. Like it,
// this goes on from the samples it finds, so a long row may come in pieces, features ascending from piece to piece.
inline void scan_pruned_generated(const Entries& row, const HashKeys* hashes, std::size_t n_blocks,
                                  PrunedWorkspace& work, const Samples& samples) {
  for (std::size_t start = 0; start < row.n; start += PrunedWorkspace::kEntries) {
    const std::size_t rest = row.n - start;
    const std::size_t n = rest < PrunedWorkspace::kEntries ? rest : PrunedWorkspace::kEntries;
    const Entries piece = {row.feature + start, row.L + start, row.key + start, n};
    // Measured; any number up to ParameterPacks::kMax gives the same.
    const std::size_t n_parts = start > 0 ? 1 : n < 48 ? 3 : n < 256 ? 5 : 8;
    const float M = greatest(piece.L, n);
    if (n > kFewEntries) prepare(piece, M, work);
    for (std::size_t block = 0; block < n_blocks; ++block) {
      const std::size_t at = block * kHashBlock;
      const Samples best = {samples.a + at, samples.t + at, samples.i + at};
      if (n > kFewEntries) {
        scan_pruned_block(piece, M, n_parts, hashes[block], work, best);
      } else {
        scan_generated(piece, hashes[block], best);
      }
    }
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
