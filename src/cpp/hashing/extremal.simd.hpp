// Extremal sampling on some entries of a row and sixteen hashes. gcwsnet.hashing has the same in NumPy.
//
// Most features cannot win, and one word of each cell shows it. The height of a point is -ln(1 - u) >= u, good to 2^-22
// of itself, and its score is this over W, times E[l], times E[lag], each rounded once. So a point of cell n - l whose
// score is below the least one so far has
//   u < least W / (E[l] E[lag]) (1 + 2^-18).
// For the own cell, l = 0, this holds for the first point and therefore for all: further ones are higher still. If no
// point of a cell can win, the cell can be left out: it could only hide points that are higher still.
#pragma once

#include "hashing/parameters.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr double kE8[] = {1.0, 2980.9579870417283, 8886110.520507872, 26489122129.84347, 78962960182680.69};
inline constexpr double kWidth = 2979.9579870417283;  // of a cell in s, where its lower end is 1: e^8 - 1

// exp(x) - 1 in f32 for x = L - 8 floor(L / 8), with exp as the NumPy reference has it, for n numbers.
inline void weights_above_cells(const float* L, std::size_t n, float* above) {
  double inverse_factorial[14] = {1.0};
  double factorial = 1.0;
  for (int i = 1; i < 14; ++i) {
    factorial *= i;
    inverse_factorial[i] = 1.0 / factorial;
  }
  for (std::size_t start = 0; start < n; start += kLanes) {
    const std::size_t here = n - start < kLanes ? n - start : kLanes;
    float x[kLanes] = {};
    __builtin_memcpy(x, L + start, here * sizeof(float));
    store(x, load<Floats>(x) - floats(8.0f) * floor(load<Floats>(x) / floats(8.0f)));
    float weight[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int32_t k = static_cast<std::int32_t>(x[lane] * 1.4426950408889634 + 0.5);  // x is not negative
      const double f = x[lane] - k * 0.6931471805599453;
      double series = inverse_factorial[13];
      for (int i = 12; i >= 0; --i) series = series * f + inverse_factorial[i];
      weight[lane] = static_cast<float>(series * static_cast<double>(1 << k));
    }
    store(weight, load<Floats>(weight) - floats(1.0f));
    __builtin_memcpy(above + start, weight, here * sizeof(float));
  }
}

class LowestPoints {
 public:
  GCWSNET_INLINE LowestPoints(const CellKeys& cells, std::uint32_t max_lag, const HashKeys& hashes, const Samples& at)
      : cells_(cells),
        max_lag_(max_lag),
        position_low_(folded(load<Words>(hashes.low[0]))),
        position_high_(load<Words>(hashes.high[0])),
        height_low_(folded(load<Words>(hashes.low[1]))),
        height_high_(load<Words>(hashes.high[1])),
        least_(load<Floats>(at.a)),
        t_(load<Floats>(at.t)),
        i_(load<Words>(at.i)) {
    for (std::uint32_t cell = 0; cell <= max_lag + kLowerCells; ++cell) {
      first_low_[cell] = height_low_ ^ words(fold(cells.step[cell][0].low));
      first_high_[cell] = height_high_ ^ words(cells.step[cell][0].high);
    }
    set_bounds();
  }

  GCWSNET_INLINE void consider(const PointEntries& row, std::size_t e) {
    const std::uint32_t lag = row.lag[e];
    const Words low = words(row.folded_low[e]), high = words(row.high[e]);
    bool possible[kLowerCells + 1];
    bool none = true;
#pragma GCC unroll 4
    for (std::uint32_t l = 0; l <= kLowerCells; ++l) {
      possible[l] = false;
      if (!matters_[lag][l]) continue;
      const Words h = word_of_folded(low ^ first_low_[lag + l], high ^ first_high_[lag + l]);
      possible[l] = lanes_where(bound_[lag][l] < bits<Ints>(h >> 1)) != 0xffffu;
      none = none && !possible[l];
    }
    if (!none) evaluate_points(row, e, possible);
  }

  GCWSNET_INLINE void write(const Samples& at) const {
    store(at.a, least_);
    store(at.t, t_);
    store(at.i, i_);
  }

 private:
  static GCWSNET_INLINE std::uint32_t fold(std::uint32_t low) { return low ^ (low >> 16); }

  // The largest (h >> 1) of the first word of a cell with which it can win; h >> 1 is at most 2^31 u.
  GCWSNET_INLINE void set_bounds() {
    for (std::uint32_t lag = 0; lag <= max_lag_; ++lag) {
      for (std::uint32_t l = 0; l <= kLowerCells; ++l) {
        constexpr float kMaxExact = 2147483520.0f;
        const double scale = 0x1p31 * (1.0 + 0x1p-16) * kWidth / (kE8[l] * kE8[lag]);
        const Floats bound = minimum(least_ * floats(static_cast<float>(scale)), floats(kMaxExact));
        matters_[lag][l] = any((bound < floats(1.0f)) ^ ints(-1));  // u is at least 2^-31
        bound_[lag][l] = select(bound < floats(kMaxExact), to_ints(bound), ints(0x7fffffff));
      }
    }
  }

  GCWSNET_INLINE Floats position(const Words& low, const Words& high, const Key& step) const {
    return unit31(
        word_of_folded(low ^ position_low_ ^ words(fold(step.low)), high ^ position_high_ ^ words(step.high)));
  }
  GCWSNET_INLINE Floats height(const Words& low, const Words& high, const Key& step) const {
    return minus_log1m(
        unit31(word_of_folded(low ^ height_low_ ^ words(fold(step.low)), high ^ height_high_ ^ words(step.high))));
  }

  void evaluate_points(const PointEntries& row, std::size_t e, const bool* possible) {
    const std::uint32_t lag = row.lag[e];
    const Words low = words(row.folded_low[e]), high = words(row.high[e]);
    const Floats width = floats(static_cast<float>(kWidth)), scale = floats(static_cast<float>(kE8[lag]));
    Floats best = floats(__builtin_inff()), number = Floats{};
    for (std::uint32_t l = 1; l <= kLowerCells; ++l) {
      if (!possible[l]) continue;
      const Floats y = height(low, high, cells_.step[lag + l][0]) / width * floats(static_cast<float>(kE8[l]));
      number = select(y < best, floats(cells_.number[lag + l]), number);
      best = minimum(y, best);
    }
    if (possible[0]) {
      Floats y = Floats{}, z = width;
      const Floats above = floats(row.above[e]);
      Ints going = ints(-1);
      for (int s = 0; s < kMaxSteps; ++s) {
        const Key& step = cells_.step[lag][s];
        y = y + height(low, high, step) / z;
        going = going & (y < best) & (y * scale < least_);
        if (!any(going)) break;
        z = z * position(low, high, step);
        const Ints under = going & ((above < z) ^ ints(-1));
        best = select(under, y, best);
        number = select(under, floats(cells_.number[lag] + static_cast<float>(s)), number);
        going = going & (under ^ ints(-1));
      }
    }
    const Floats score = best * scale;
    const Ints better = score < least_;  // features ascend: on a tie the lowest stays
    if (!any(better)) return;
    least_ = select(better, score, least_);
    t_ = select(better, number, t_);
    i_ = select(better, words(row.feature[e]), i_);
    set_bounds();
  }

  const CellKeys& cells_;
  const std::uint32_t max_lag_;
  const Words position_low_, position_high_, height_low_, height_high_;
  Words first_low_[kMaxCells], first_high_[kMaxCells];
  Ints bound_[kMaxLag + 1][kLowerCells + 1];
  bool matters_[kMaxLag + 1][kLowerCells + 1];
  Floats least_, t_;
  Words i_;
};

// The samples go on from what they are: a long row may come in pieces, features ascending from piece to piece.
inline void lowest_points(const PointEntries& row, const CellKeys& cells, std::uint32_t max_lag, const HashKeys& hashes,
                          const Samples& samples) {
  LowestPoints lowest(cells, max_lag, hashes, samples);
  for (std::size_t e = 0; e < row.n; ++e) lowest.consider(row, e);
  lowest.write(samples);
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
