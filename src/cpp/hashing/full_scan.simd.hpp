// Algorithm 1 on one row and sixteen hashes: the full scan over the row's non-zero entries, or over a further piece of
// them.
#pragma once

#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// The smallest a of each hash so far, with its t and its feature.
class Best {
 public:
  GCWSNET_INLINE explicit Best(const Samples& at)
      : a_(load<Floats>(at.a)), t_(load<Floats>(at.t)), i_(load<Words>(at.i)) {}

  GCWSNET_INLINE Best(const Floats& a, const Floats& t, const Words& i) : a_(a), t_(t), i_(i) {}

  GCWSNET_INLINE const Floats& a() const { return a_; }

  // Features in any order: on a tie the lowest wins, which must be said.
  GCWSNET_INLINE void consider_unordered(const Words& feature, const Floats& L, const Parameters& q) {
    const Floats t = floor(L * q.inverse_r + q.beta);
    take_better(q.offset - q.r * t, t, feature);
  }
  GCWSNET_INLINE void take_better(const Floats& a, const Floats& t, const Words& feature) {
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

// `table` holds the parameters of all features for these sixteen hashes. If it is too large for the nearest cache,
// `far`, what will be needed is asked for ahead.
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

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
