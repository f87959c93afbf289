// Algorithm 1 without most of its work, exactly: features in ascending order of s = ln c - r, until none can win.
//
// a = ln c - r (t + 1 - beta) is above ln c - r - L = s - L. So once s - limit is above the least a so far, with
// `limit` at least the L of every feature still to come, no feature still to come can win or tie.
#pragma once

#include "hashing/full_scan.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// A group is two registers of rows: they share what is read of a list, and all numbers of a scan are in registers.
inline constexpr int kRowGroup = kRegisterLanes < kLanes ? kLanes : 2 * kLanes;
inline constexpr int kRowPacks = kRowGroup / kLanes;
inline constexpr int kStride = 4;  // places between two looks at the bound

// Above every a and below infinity, which is the a of a feature that a row does not have.
inline constexpr float kNoSample = 0x1.fffffep127f;

// The least a of each row of a group so far.
struct BestOfGroup {
  Floats a[kRowPacks], t[kRowPacks];
  Words slot[kRowPacks];
  IntRegister ties;  // how often an a was equal to the least so far: then the lowest slot must be looked for
};

struct PlaceOfList {
  Parameters q;
  std::uint32_t slot;
};
GCWSNET_INLINE PlaceOfList place_of(const float* chunk, int place) {
  PlaceOfList out = {{floats(chunk[kListChunk + place]), floats(chunk[2 * kListChunk + place]),
                      floats(chunk[3 * kListChunk + place]), floats(chunk[4 * kListChunk + place])},
                     0};
  __builtin_memcpy(&out.slot, chunk + 5 * kListChunk + place, sizeof out.slot);
  return out;
}

template <bool lowest_slot>
GCWSNET_INLINE void consider(const float* chunk, int place, const float* L, BestOfGroup& best) {
  const PlaceOfList here = place_of(chunk, place);
  const float* const of_rows = L + std::size_t{here.slot} * kRowGroup;
#pragma GCC unroll 2
  for (int pack = 0; pack < kRowPacks; ++pack) {
    const Floats t = floor(load<Floats>(of_rows + pack * kLanes) * here.q.inverse_r + here.q.beta);
    const Floats a = here.q.offset - here.q.r * t;
    Ints better = a < best.a[pack];
    const Ints equal = a == best.a[pack];
    if constexpr (lowest_slot) {
      better = better | (equal & (ints(static_cast<std::int32_t>(here.slot)) < bits<Ints>(best.slot[pack])));
    } else {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) best.ties -= equal.part[part];
    }
    best.a[pack] = minimum(a, best.a[pack]);
    best.t[pack] = select(better, t, best.t[pack]);
    best.slot[pack] = select(better, words(here.slot), best.slot[pack]);
  }
}

GCWSNET_INLINE bool may_win(float s, const float* limit, const BestOfGroup& best) {
  Ints open = (floats(s) - load<Floats>(limit)) < best.a[0];
#pragma GCC unroll 2
  for (int pack = 1; pack < kRowPacks; ++pack) {
    open = open | ((floats(s) - load<Floats>(limit + pack * kLanes)) < best.a[pack]);
  }
  return any(open);
}

// One hash, a group of rows. False if the list ended while a feature beyond it could still win in some row.
template <bool lowest_slot, bool far>
GCWSNET_INLINE bool scan_list(const SortedFeatures& list, const float* chunk, const RowsByFeature& rows,
                              BestOfGroup& best) {
  for (std::size_t first = 0; first < list.length; first += kListChunk, chunk += kNextChunk) {
#pragma GCC unroll 4
    for (int place = 0; place < kListChunk; place += kStride) {
      if (!may_win(chunk[place], rows.limit, best)) return true;
      if constexpr (far) {
#pragma GCC unroll 4
        for (int later = place + kPrefetch; later < place + kPrefetch + kStride; ++later) {
          std::uint32_t slot;
          const float* const of_later = chunk + later / kListChunk * kNextChunk + 5 * kListChunk + later % kListChunk;
          __builtin_memcpy(&slot, of_later, sizeof slot);
          __builtin_prefetch(rows.L + std::size_t{slot} * kRowGroup);
          if constexpr (kRowPacks > 1) __builtin_prefetch(rows.L + std::size_t{slot} * kRowGroup + kLanes);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < kStride; ++i) consider<lowest_slot>(chunk, place + i, rows.L, best);
    }
  }
  return list.all || !may_win(chunk[-kNextChunk + static_cast<int>((list.length - 1) % kListChunk)], rows.limit, best);
}

// Samples of a block of hashes and a group of rows, [hash][row].
struct GroupSamples {
  float a[kHashBlock][kRowGroup], t[kHashBlock][kRowGroup];
  std::uint32_t i[kHashBlock][kRowGroup];
};

GCWSNET_INLINE BestOfGroup start_of_scan(const GroupSamples& samples, int hash, int shift, bool go_on) {
  BestOfGroup best;
  for (int pack = 0; pack < kRowPacks; ++pack) {
    const int row = pack * kLanes;
    best.a[pack] = go_on ? minimum(load<Floats>(samples.a[hash] + row), floats(kNoSample)) : floats(kNoSample);
    best.t[pack] = go_on ? load<Floats>(samples.t[hash] + row) : floats(__builtin_nanf(""));
    best.slot[pack] = (go_on ? load<Words>(samples.i[hash] + row) : words(kNoFeature)) >> shift;
  }
  best.ties = IntRegister{};
  return best;
}

template <bool far>
GCWSNET_INLINE std::uint32_t scan_group(const SortedFeatures& list, const RowsByFeature& rows, bool go_on,
                                        GroupSamples& samples) {
  std::uint32_t unfinished = 0;
  for (int hash = 0; hash < kHashBlock; ++hash) {
    const float* const chunks = list.chunks + hash * kChunkSize;
    BestOfGroup best = start_of_scan(samples, hash, rows.shift, go_on);
    bool finished = scan_list<false, far>(list, chunks, rows, best);
    if (any_bit(best.ties)) {  // rarely: once more, with more care
      best = start_of_scan(samples, hash, rows.shift, go_on);
      finished = scan_list<true, far>(list, chunks, rows, best);
    }
    if (!finished) unfinished |= 1u << hash;
    for (int pack = 0; pack < kRowPacks; ++pack) {
      const Words none = words(kNoFeature >> rows.shift);
      const Words feature = best.slot[pack] << rows.shift;
      store(samples.t[hash] + pack * kLanes, best.t[pack] + floats(0.0f));  // minus zero becomes zero
      store(samples.i[hash] + pack * kLanes, select(best.slot[pack] == none, words(kNoFeature), feature));
    }
  }
  return unfinished;
}

// A group of rows and a block of sixteen hashes; samples[row][hash], `stride` apart. Rows that have samples go on from
// them if `go_on`. Returns the hashes of which some row is not finished, as bits.
inline std::uint32_t scan_sorted_rows(const SortedFeatures& list, const RowsByFeature& rows, bool go_on,
                                      const Samples& samples, std::size_t stride) {
  GroupSamples by_hash;
  for (int row = 0; go_on && row < kRowGroup; row += kLanes) {
    const std::size_t at = static_cast<std::size_t>(row) * stride;
    transpose(samples.a + at, stride, by_hash.a[0] + row, kRowGroup);
    transpose(samples.t + at, stride, by_hash.t[0] + row, kRowGroup);
    transpose(samples.i + at, stride, by_hash.i[0] + row, kRowGroup);
  }
  const std::uint32_t unfinished =
      rows.far ? scan_group<true>(list, rows, go_on, by_hash) : scan_group<false>(list, rows, go_on, by_hash);
  for (int row = 0; row < kRowGroup; row += kLanes) {
    const std::size_t at = static_cast<std::size_t>(row) * stride;
    transpose(by_hash.t[0] + row, kRowGroup, samples.t + at, stride);
    transpose(by_hash.i[0] + row, kRowGroup, samples.i + at, stride);
  }
  return unfinished;
}

// One row, L[slot], and a block of sixteen hashes: sixteen places of a list at once, then the best of the sixteen
// lanes. Goes on from the samples. Returns the hashes that are not finished, as bits.
inline std::uint32_t scan_sorted_places(const SortedFeatures& list, const RowsByFeature& row, const Samples& samples) {
  float a[kHashBlock][kLanes], t[kHashBlock][kLanes];
  std::uint32_t i[kHashBlock][kLanes];
  std::uint32_t unfinished = 0;
  for (int hash = 0; hash < kHashBlock; ++hash) {
    const float* chunk = list.chunks + hash * kChunkSize;
    Best best(floats(samples.a[hash]), floats(samples.t[hash]), words(samples.i[hash]));
    bool finished = false;
    for (std::size_t first = 0; first < list.length && !finished; first += kListChunk, chunk += kNextChunk) {
      const Words slot = load<Words>(chunk + 5 * kListChunk);
      best.consider_unordered(slot << row.shift, gathered<Floats>(row.L, slot), load_parameters(chunk + kListChunk));
      finished = lanes_where(floats(chunk[kNextChunk] - *row.limit) < best.a()) != 0xffffu;
    }
    if (!finished && !list.all) unfinished |= 1u << hash;
    best.write({a[hash], t[hash], i[hash]});
  }
  float a_of[kLanes][kHashBlock], t_of[kLanes][kHashBlock];
  std::uint32_t i_of[kLanes][kHashBlock];
  transpose(a[0], kLanes, a_of[0], kHashBlock);
  transpose(t[0], kLanes, t_of[0], kHashBlock);
  transpose(i[0], kLanes, i_of[0], kHashBlock);
  Best best({a_of[0], t_of[0], i_of[0]});
  for (int lane = 1; lane < kLanes; ++lane) {
    best.take_better(load<Floats>(a_of[lane]), load<Floats>(t_of[lane]), load<Words>(i_of[lane]));
  }
  best.write(samples);
  return unfinished;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
