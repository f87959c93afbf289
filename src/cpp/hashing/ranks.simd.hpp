// 0/1 rows. Where L = 0, t = floor(beta) = 0 and a is the offset: each feature has one a for a hash. Its rank are four
// bits that never fall as a rises: sixteen levels, each kLevel times as wide in exp(a) as the one below. The ranks of a
// feature for all hashes stand together: a row takes a few lines of memory for each entry, however many columns there
// are, and those lines are what it waits for. exp(a) of the best of n features is near 1 / n, so one hash in five or
// six has several features of the least rank, whatever n; those are compared by their parameters.
#pragma once

#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The highest rank begins at exp(a) = 0.4, the lowest ends at 0.002: few features are below, and a row has few if all
// are above.
inline constexpr float kLevelsPerUnit = 2.64f, kLowestLevel = -0.92f - 15.0f / kLevelsPerUnit;

// The ranks of n features. Those of 64 hashes are a word of 32 bytes: 32 hashes in the lower four bits, 32 in the
// upper.
inline void fill_ranks(const Key* features, std::size_t n, const HashKeys* hashes, std::size_t n_blocks,
                       std::uint8_t* ranks, std::size_t width) {
  constexpr std::size_t kBlocks = kRankWord / kLanes;
  ParameterPacks packs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t first = 0; first < n_blocks; first += kBlocks) {
      const std::size_t here = n_blocks - first < kBlocks ? n_blocks - first : kBlocks;
      for (std::size_t block = 0; block < here; ++block) packs.set(block, features[i], hashes[first + block]);
      packs.take_logarithms(here);
      std::int32_t rank[kRankWord] = {};
      for (std::size_t block = 0; block < here; ++block) {
        const Floats level = (packs.at(block).offset - floats(kLowestLevel)) * floats(kLevelsPerUnit);
        store(rank + block * kLanes, to_ints(maximum(minimum(level, floats(15.0f)), floats(0.0f))));
      }
      std::uint8_t* const word = ranks + i * width + first * (kRankWordBytes / kBlocks);
      for (int at = 0; at < kRankWordBytes; ++at)
        word[at] = static_cast<std::uint8_t>(rank[at] | rank[at + kRankWordBytes] << 4);
    }
  }
}

// A number of eight bits for each of 64 hashes.
#if defined(__AVX2__)
inline constexpr int kByteLanes = 32;
#else
inline constexpr int kByteLanes = 16;
#endif
inline constexpr int kByteParts = kRankWord / kByteLanes;
typedef std::uint8_t ByteRegister __attribute__((vector_size(kByteLanes)));
struct Bytes {
  ByteRegister part[kByteParts];
};

GCWSNET_INLINE Bytes load_ranks(const std::uint8_t* word) {
  Bytes ranks;
#pragma GCC unroll 2
  for (int i = 0; i < kByteParts / 2; ++i) {
    ByteRegister both;
    __builtin_memcpy(&both, word + i * kByteLanes, sizeof both);
    ranks.part[i] = both & 15;
    ranks.part[i + kByteParts / 2] = both >> 4;
  }
  return ranks;
}

// One bit for each hash: whether its number is n.
GCWSNET_INLINE std::uint64_t hashes_with(const Bytes& bytes, std::uint8_t n) {
  std::uint64_t equal = 0;
#pragma GCC unroll 4
  for (int i = 0; i < kByteParts; ++i) {
    const ByteRegister same = (ByteRegister)(bytes.part[i] == n);
#if defined(__AVX2__)
    equal |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)same))} << (i * kByteLanes);
#elif defined(__SSE2__)
    equal |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)same))} << (i * kByteLanes);
#else
    for (int lane = 0; lane < kByteLanes; ++lane) equal |= std::uint64_t{same[lane] & 1u} << (i * kByteLanes + lane);
#endif
  }
  return equal;
}

GCWSNET_INLINE const std::uint8_t* ranks_of(const RankTable& table, std::uint32_t feature) {
  return table.ranks + std::size_t{feature >> table.shift} * table.width;
}

// The least rank of each hash of n_words words. Lines of the `n_ahead` entries that can be read are asked for ahead,
// those of the next rows included.
inline constexpr std::size_t kRankPrefetch = 16;
template <int n_words>
GCWSNET_INLINE void find_least(const Entries& row, const RankTable& table, std::size_t first, std::size_t n_ahead,
                               Bytes* least) {
  Bytes best[n_words];
#pragma GCC unroll 4
  for (int word = 0; word < n_words; ++word)
    best[word] = load_ranks(ranks_of(table, row.feature[0]) + first + word * kRankWordBytes);
  for (std::size_t e = 1; e < row.n; ++e) {
    const std::uint8_t* const later =
        ranks_of(table, row.feature[e + kRankPrefetch < n_ahead ? e + kRankPrefetch : e]) + first;
    for (int line = 0; line < n_words * kRankWordBytes; line += 64) __builtin_prefetch(later + line);
    const std::uint8_t* const ranks = ranks_of(table, row.feature[e]) + first;
#pragma GCC unroll 4
    for (int word = 0; word < n_words; ++word) {
      const Bytes rank = load_ranks(ranks + word * kRankWordBytes);
#pragma GCC unroll 4
      for (int i = 0; i < kByteParts; ++i) {
        best[word].part[i] = rank.part[i] < best[word].part[i] ? rank.part[i] : best[word].part[i];
      }
    }
  }
  for (int word = 0; word < n_words; ++word) least[word] = best[word];
}

// Which of at most kMaxEntriesAtOnce entries have the least rank of each hash: how many, the first one, the last one,
// and the sum of their numbers in eight bits, which gives the second one of three.
struct MinRankEntries {
  Bytes count, first, last, sum;
};
inline constexpr std::size_t kMaxEntriesAtOnce = 255;
GCWSNET_INLINE MinRankEntries find_min_rank_entries(const std::uint32_t* feature, std::size_t n, const RankTable& table,
                                                    std::size_t first, const Bytes& least) {
  MinRankEntries found;
#pragma GCC unroll 4
  for (int i = 0; i < kByteParts; ++i) {
    found.count.part[i] = found.last.part[i] = found.sum.part[i] = ByteRegister{};
    found.first.part[i] = ~ByteRegister{};
  }
  ByteRegister here = {};
  for (std::size_t e = 0; e < n; ++e) {
    const Bytes rank = load_ranks(ranks_of(table, feature[e]) + first);
#pragma GCC unroll 4
    for (int i = 0; i < kByteParts; ++i) {
      const ByteRegister equal = (ByteRegister)(rank.part[i] == least.part[i]), number = equal & here;
      const ByteRegister number_or_none = ~equal | here;
      found.count.part[i] -= equal;
      found.first.part[i] = number_or_none < found.first.part[i] ? number_or_none : found.first.part[i];
      found.last.part[i] = found.last.part[i] < number ? number : found.last.part[i];
      found.sum.part[i] += number;
    }
    here += 1;
  }
  return found;
}

// One word of hashes: the entry of each, and the ties behind the n that are there. Returns how many ties there are
// then, even if not all could be written.
inline std::size_t list_word(const Entries& row, const RankTable& table, std::size_t word, const Bytes& least,
                             std::uint32_t* entries, const Ties& ties, std::size_t n) {
  const std::size_t first = word * kRankWordBytes, first_hash = word * kRankWord;
  const std::size_t n_hashes = table.n_hashes - first_hash < kRankWord ? table.n_hashes - first_hash : kRankWord;
  std::uint64_t seen = 0, shared = 0;
  for (std::size_t from = 0; from < row.n; from += kMaxEntriesAtOnce) {
    const std::size_t here = row.n - from < kMaxEntriesAtOnce ? row.n - from : kMaxEntriesAtOnce;
    const MinRankEntries found = find_min_rank_entries(row.feature + from, here, table, first, least);
    std::uint8_t count[kRankWord], first_of[kRankWord], last[kRankWord], sum[kRankWord], least_rank[kRankWord];
    __builtin_memcpy(count, &found.count, kRankWord);
    __builtin_memcpy(first_of, &found.first, kRankWord);
    __builtin_memcpy(last, &found.last, kRankWord);
    __builtin_memcpy(sum, &found.sum, kRankWord);
    __builtin_memcpy(least_rank, &least, kRankWord);
    const std::uint64_t held = ~hashes_with(found.count, 0);
    const std::uint64_t held_again =
        held & (seen | ~hashes_with(found.count, 1)) & (~std::uint64_t{0} >> (kRankWord - n_hashes));
    for (std::uint64_t rest = held_again; rest != 0; rest &= rest - 1) {
      const int hash = __builtin_ctzll(rest);
      const auto add = [&](std::size_t entry) {
        if (n < ties.capacity) {
          ties.entry[n] = static_cast<std::uint32_t>(entry);
          ties.hash[n] = static_cast<std::uint32_t>(first_hash) + static_cast<std::uint32_t>(hash);
        }
        ++n;
      };
      if ((seen & ~shared) >> hash & 1) add(entries[first_hash + hash]);
      if (count[hash] > 3) {
        for (std::size_t e = from; e < from + here; ++e) {
          const std::uint8_t both = ranks_of(table, row.feature[e])[first + hash % kRankWordBytes];
          if ((hash < kRankWordBytes ? both & 15 : both >> 4) == least_rank[hash]) add(e);
        }
        continue;
      }
      if (count[hash] > 1) add(from + first_of[hash]);
      if (count[hash] > 2) add(from + static_cast<std::uint8_t>(sum[hash] - first_of[hash] - last[hash]));
      add(from + last[hash]);
    }
    for (int hash = 0; hash < kRankWord; ++hash) {
      const std::uint32_t entry = static_cast<std::uint32_t>(from) + last[hash];
      entries[first_hash + hash] = count[hash] > 0 ? entry : entries[first_hash + hash];
    }
    seen |= held;
    shared |= held_again;
  }
  return n;
}

template <int n_words>
GCWSNET_INLINE std::size_t scan_words(const Entries& row, const RankTable& table, std::size_t word, std::size_t n_ahead,
                                      std::uint32_t* entries, const Ties& ties, std::size_t n) {
  Bytes least[n_words];
  find_least<n_words>(row, table, word * kRankWordBytes, n_ahead, least);
  for (int i = 0; i < n_words; ++i) n = list_word(row, table, word + i, least[i], entries, ties, n);
  return n;
}

// A row with entries by the ranks of its features: for each hash an entry of the least rank, and the ties, the entries
// of hashes that have several such entries, ascending for each hash. Returns the number of ties, even if not all could
// be written. `n_ahead` features can be read: those of the row, and of rows that follow.
inline std::size_t scan_ranks(const Entries& row, const RankTable& table, std::size_t n_ahead, std::uint32_t* entries,
                              const Ties& ties) {
  const std::size_t n_words = table.width / kRankWordBytes;
  std::size_t n = 0, word = 0;
  for (; word + 4 <= n_words; word += 4) n = scan_words<4>(row, table, word, n_ahead, entries, ties, n);
  for (; word < n_words; ++word) n = scan_words<1>(row, table, word, n_ahead, entries, ties, n);
  return n;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
