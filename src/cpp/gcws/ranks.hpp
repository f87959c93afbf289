// 0/1 rows. Where L = 0, t = floor(beta) = 0 and a is the offset: each feature has one a for a hash. Its rank are eight bits
// that never fall as a rises, in steps of 1 / 16. The ranks of a feature for all hashes stand together: a row takes a few lines
// of memory for each entry, however many columns there are. exp(a) of the best of n features is near 1 / n, so one hash in
// sixteen has several features of the least rank, whatever n; those are compared by their parameters.
#pragma once

#include "gcws/parameters.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The ranks of n features for one block of sixteen hashes, `stride` apart.
inline void fill_ranks(const Key* features, std::size_t n, const HashKeys& hashes, std::uint8_t* ranks, std::size_t stride) {
  for (std::size_t i = 0; i < n; ++i) {
    const Floats place = (parameters(features[i], hashes).offset + floats(13.0f)) * floats(16.0f);
    std::int32_t rank[kLanes];
    store(rank, to_ints(maximum(minimum(place, floats(255.0f)), floats(0.0f))));
    for (int lane = 0; lane < kLanes; ++lane) ranks[i * stride + lane] = static_cast<std::uint8_t>(rank[lane]);
  }
}

// The ranks of a word of 64 hashes.
inline constexpr int kRankBytes = 4 * kRegisterLanes;
inline constexpr int kRankParts = kRankWord / kRankBytes;
typedef std::uint8_t RankRegister __attribute__((vector_size(kRankBytes)));
struct Ranks {
  RankRegister part[kRankParts];
};

GCWSNET_INLINE Ranks load_ranks(const std::uint8_t* from) {
  Ranks ranks;
#pragma GCC unroll 4
  for (int i = 0; i < kRankParts; ++i) {
    RankRegister part;
    __builtin_memcpy(&part, from + i * kRankBytes, sizeof part);
    ranks.part[i] = part;
  }
  return ranks;
}

// One bit for each hash: whether the ranks are equal.
GCWSNET_INLINE std::uint64_t hashes_where_equal(const Ranks& a, const Ranks& b) {
  std::uint64_t equal = 0;
#pragma GCC unroll 4
  for (int i = 0; i < kRankParts; ++i) {
#if defined(__AVX512BW__)
    equal |= _mm512_cmpeq_epi8_mask((__m512i)a.part[i], (__m512i)b.part[i]);
#elif defined(__AVX2__)
    const RankRegister same = (RankRegister)(a.part[i] == b.part[i]);
    equal |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)same))} << (i * kRankBytes);
#elif defined(__SSE2__)
    const RankRegister same = (RankRegister)(a.part[i] == b.part[i]);
    equal |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)same))} << (i * kRankBytes);
#else
    for (int lane = 0; lane < kRankBytes; ++lane) {
      equal |= std::uint64_t{a.part[i][lane] == b.part[i][lane]} << (i * kRankBytes + lane);
    }
#endif
  }
  return equal;
}

// The least rank of each hash, the first entry that has it, and whether another one has it too.
struct LeastRanks {
  Ranks rank, entry, shared;
};

// Of at most kEntriesOfRanks entries and n_words words of hashes. Of the entries that come later, `n_ahead` of them, those of the
// next rows included, `prefetched` bytes are asked for ahead.
inline constexpr std::size_t kEntriesOfRanks = 256, kRankPrefetch = 16;
template <int n_words>
GCWSNET_INLINE void find_least(const RankTable& table, const std::uint8_t* ranks, const std::uint32_t* feature, std::size_t n,
                               std::size_t n_ahead, std::size_t prefetched, LeastRanks* least) {
  const auto of_entry = [&](std::size_t e) { return ranks + std::size_t{feature[e] >> table.shift} * table.width; };
  LeastRanks best[n_words];
#pragma GCC unroll 2
  for (int word = 0; word < n_words; ++word) best[word] = {load_ranks(of_entry(0) + word * kRankWord), {}, {}};
  RankRegister here = {};
  for (std::size_t e = 1; e < n; ++e) {
    const std::uint8_t* const later = of_entry(e + kRankPrefetch < n_ahead ? e + kRankPrefetch : e);
    for (std::size_t line = 0; line < prefetched; line += kRankWord) __builtin_prefetch(later + line);
    here += 1;
#pragma GCC unroll 2
    for (int word = 0; word < n_words; ++word) {
      const Ranks rank = load_ranks(of_entry(e) + word * kRankWord);
      LeastRanks& so_far = best[word];
#pragma GCC unroll 4
      for (int i = 0; i < kRankParts; ++i) {
        const RankRegister before = so_far.rank.part[i];
        const RankRegister lower = rank.part[i] < before ? rank.part[i] : before;
        const RankRegister stays = (RankRegister)(lower == before);
        so_far.shared.part[i] = (so_far.shared.part[i] | (RankRegister)(rank.part[i] == before)) & stays;
        so_far.entry.part[i] = stays ? so_far.entry.part[i] : here;
        so_far.rank.part[i] = lower;
      }
    }
  }
  for (int word = 0; word < n_words; ++word) least[word] = best[word];
}

// n_words words of hashes from `first` on: the entry of each, and the rivals behind the n that are there. Returns how many
// rivals there are then, even if not all could be written.
template <int n_words>
GCWSNET_INLINE std::size_t scan_words(const Entries& row, const RankTable& table, std::size_t first, std::size_t n_ahead,
                                      std::uint32_t* entries, const Rivals& rivals, std::size_t n) {
  constexpr int kHashes = n_words * kRankWord;
  const std::size_t prefetched = first > 0 ? 0 : table.width;
  std::uint8_t rank[kHashes], shared[kHashes];
  for (std::size_t from = 0; from < row.n; from += kEntriesOfRanks) {
    const std::size_t here = row.n - from < kEntriesOfRanks ? row.n - from : kEntriesOfRanks;
    LeastRanks least[n_words];
    find_least<n_words>(table, table.ranks + first, row.feature + from, here, n_ahead - from, prefetched, least);
    for (int word = 0; word < n_words; ++word) {
      std::uint8_t rank_here[kRankWord], entry_here[kRankWord], shared_here[kRankWord];
      __builtin_memcpy(rank_here, &least[word].rank, kRankWord);
      __builtin_memcpy(entry_here, &least[word].entry, kRankWord);
      __builtin_memcpy(shared_here, &least[word].shared, kRankWord);
      for (int lane = 0; lane < kRankWord; ++lane) {
        const int hash = word * kRankWord + lane;
        const bool lower = from == 0 || rank_here[lane] < rank[hash];
        const bool equal = from > 0 && rank_here[lane] == rank[hash];
        shared[hash] = lower ? shared_here[lane] : equal ? 1 : shared[hash];
        rank[hash] = lower ? rank_here[lane] : rank[hash];
        entries[first + hash] = lower ? static_cast<std::uint32_t>(from) + entry_here[lane] : entries[first + hash];
      }
    }
  }
  for (std::size_t word = first; word < first + kHashes && word < table.n_hashes; word += kRankWord) {
    const std::size_t n_hashes = table.n_hashes - word < kRankWord ? table.n_hashes - word : kRankWord;
    const Ranks least = load_ranks(rank + (word - first));
    const std::uint64_t open = ~hashes_where_equal(load_ranks(shared + (word - first)), Ranks{}) & (~std::uint64_t{0} >> (kRankWord - n_hashes));
    if (open == 0) continue;
    for (std::size_t e = 0; e < row.n; ++e) {
      const std::uint8_t* const ranks = table.ranks + std::size_t{row.feature[e] >> table.shift} * table.width + word;
      for (std::uint64_t equal = hashes_where_equal(load_ranks(ranks), least) & open; equal != 0; equal &= equal - 1, ++n) {
        if (n >= rivals.most) continue;
        rivals.entry[n] = static_cast<std::uint32_t>(e);
        rivals.hash[n] = static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(__builtin_ctzll(equal));
      }
    }
  }
  return n;
}

// A row with entries by the ranks of its features: for each hash an entry of the least rank, and the rivals, the entries of
// hashes that have several such entries, ascending for each hash. Returns the number of rivals, even if not all could be
// written. `n_ahead` features can be read: those of the row, and of rows that follow.
inline std::size_t scan_ranks(const Entries& row, const RankTable& table, std::size_t n_ahead, std::uint32_t* entries,
                              const Rivals& rivals) {
  std::size_t n = 0, first = 0;
  for (; first + 2 * kRankWord <= table.width; first += 2 * kRankWord) {
    n = scan_words<2>(row, table, first, n_ahead, entries, rivals, n);
  }
  if (first < table.width) n = scan_words<1>(row, table, first, n_ahead, entries, rivals, n);
  return n;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
