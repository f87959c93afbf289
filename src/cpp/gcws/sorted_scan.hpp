// Algorithm 1 without most of its work, exactly: features in ascending order of s = ln c - r, until none can win.
//
// a = ln c - r (t + 1 - beta) is above ln c - r - L = s - L. So once s - limit is above the least a so far, with `limit`
// at least the L of every feature still to come, no feature still to come can win or tie.
#pragma once

#include "gcws/scan.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kStride = 4;  // places between two looks at the bound

// Transposed copies of a square of sixteen by sixteen.
template <class Number>
GCWSNET_INLINE void transpose(const Number* from, std::size_t from_stride, Number* to, std::size_t to_stride) {
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) to[column * to_stride + row] = from[row * from_stride + column];
  }
}

// One hash, sixteen rows. False if the list ended while a feature beyond it could still win in some row.
GCWSNET_INLINE bool scan_hash(const SortedFeatures& list, int hash, const RowsByFeature& rows, const Floats& limit,
                              Best& best) {
  const float* place = list.entries + hash;
  for (std::size_t f = 0; f < list.length;) {
    if (!any((floats(*place) - limit) < best.a())) return true;
    const std::size_t end = f + kStride < list.length ? f + kStride : list.length;
    for (; f < end; ++f, place += kListPlace) {
      std::uint32_t feature, ahead;
      __builtin_memcpy(&feature, place + 5 * kHashBlock, sizeof feature);
      __builtin_memcpy(&ahead, place + kPrefetch * kListPlace + 5 * kHashBlock, sizeof ahead);
      __builtin_prefetch(rows.L + std::size_t{ahead >> rows.shift} * kRowGroup);
      const Parameters q = {floats(place[kHashBlock]), floats(place[2 * kHashBlock]), floats(place[3 * kHashBlock]),
                            floats(place[4 * kHashBlock])};
      best.consider_unordered(words(feature), load<Floats>(rows.L + std::size_t{feature >> rows.shift} * kRowGroup), q);
    }
  }
  return list.all || !any((floats(place[-kListPlace]) - limit) < best.a());
}

// A group of sixteen rows and a block of sixteen hashes; samples[row][hash], `stride` apart. Rows that have samples go on
// from them if `go_on`. Returns the hashes of which some row is not finished, as bits.
inline std::uint32_t scan_sorted_rows(const SortedFeatures& list, const RowsByFeature& rows, bool go_on,
                                      const Samples& samples, std::size_t stride) {
  float a[kHashBlock][kRowGroup], t[kHashBlock][kRowGroup];
  std::uint32_t i[kHashBlock][kRowGroup];
  if (go_on) {
    transpose(samples.a, stride, a[0], kRowGroup);
    transpose(samples.t, stride, t[0], kRowGroup);
    transpose(samples.i, stride, i[0], kRowGroup);
  }
  const Floats limit = load<Floats>(rows.limit);
  std::uint32_t unfinished = 0;
  for (int hash = 0; hash < kHashBlock; ++hash) {
    Best best = go_on ? Best({a[hash], t[hash], i[hash]})
                      : Best(floats(__builtin_inff()), floats(__builtin_nanf("")), words(kNoFeature));
    if (!scan_hash(list, hash, rows, limit, best)) unfinished |= 1u << hash;
    best.write({a[hash], t[hash], i[hash]});
  }
  transpose(t[0], kRowGroup, samples.t, stride);
  transpose(i[0], kRowGroup, samples.i, stride);
  return unfinished;
}

// One row, sixteen hashes at once; L[slot]. Returns false if the list ended too early for some hash.
inline bool scan_sorted_hashes(const SortedFeatures& list, const RowsByFeature& row, const Samples& samples) {
  Best best(samples);
  const Floats limit = floats(*row.limit);
  const float* place = list.entries;
  for (std::size_t f = 0; f < list.length; ++f, place += kListPlace) {
    if (!any((load<Floats>(place) - limit) < best.a())) {
      best.write(samples);
      return true;
    }
    const Words feature = load<Words>(place + 5 * kHashBlock);
    std::uint32_t slot[kHashBlock];
    store(slot, feature >> row.shift);
    float L[kHashBlock];
    for (int hash = 0; hash < kHashBlock; ++hash) L[hash] = row.L[slot[hash]];
    best.consider_unordered(feature, load<Floats>(L), load_parameters(place + kHashBlock));
  }
  best.write(samples);
  return list.all || !any((load<Floats>(place - kListPlace) - limit) < best.a());
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
