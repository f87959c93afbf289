// The natural logarithm, in float32, by a fixed sequence of operations: the same bits on every machine.
//
// x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1, ln x = e ln 2 + (f - f^2/2 + f^3 Q(f)). Q is a minimax polynomial
// of degree 7; the relative error of the result is under 2^-23. hashing/logarithm.py is the same in NumPy.
#pragma once

#include "base/simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr std::int32_t kSqrtHalf = 0x3f3504f3;                   // the float just below sqrt(1/2)
inline constexpr std::uint64_t kSqrtHalfOfDouble = 0x3fe6a09e60000000;  // the same number as a double

// ln(1 + f)
GCWSNET_INLINE Floats log1p_polynomial(const Floats& f) {
  Floats q = floats(-0.07634494453668594f);
  q = q * f + floats(0.1276157647371292f);
  q = q * f + floats(-0.13160182535648346f);
  q = q * f + floats(0.14201758801937103f);
  q = q * f + floats(-0.16623356938362122f);
  q = q * f + floats(0.20001226663589478f);
  q = q * f + floats(-0.2500081956386566f);
  q = q * f + floats(0.3333333134651184f);
  const Floats f2 = f * f;
  return f + (q * f * f2 - f2 * floats(0.5f));
}

// x = 2^e m for positive normal x. Two functions, since GCC takes a structure of two packs through memory.
GCWSNET_INLINE Ints exponent(const Floats& x) { return (bits<Ints>(x) - ints(kSqrtHalf)) >> 23; }
GCWSNET_INLINE Floats mantissa(const Floats& x, const Ints& e) { return bits<Floats>(bits<Ints>(x) - (e << 23)); }

// ln x for positive normal x.
GCWSNET_INLINE Floats log(const Floats& x) {
  const Ints e = exponent(x);
  return to_floats(e) * floats(kLn2) + log1p_polynomial(mantissa(x, e) - floats(1.0f));
}

// -ln(1 - w) for w in (0, 1], to full relative accuracy also where w is small; w = 1 counts as 1 - 2^-25.
GCWSNET_INLINE Floats minus_log1m(const Floats& w) {
  const Floats rest = maximum(floats(1.0f) - w, floats(0x1p-25f));
  const Ints e = exponent(rest);
  const Floats f = select(e == ints(0), Floats{} - w, mantissa(rest, e) - floats(1.0f));
  return to_floats(e) * floats(-kLn2) - log1p_polynomial(f);
}

// What the logarithms of data start from: e and f = m - 1 of |x| = 2^e m.
// It is whole-number arithmetic on bits: subnormal numbers are numbers like others here, however the processor is set
// to treat them. A number that both types hold gives the same e and f from both.
inline constexpr std::size_t kPartsAtOnce = 256;
struct Parts {
  float e[kPartsAtOnce], f[kPartsAtOnce];
  bool any_special[kPartsAtOnce / kLanes];  // whether zero, infinity or NaN may be among sixteen
};

// By its bits: with subnormals flushed to zero a comparison would call them zero.
GCWSNET_INLINE bool is_zero(float x) {
  std::uint32_t i;
  __builtin_memcpy(&i, &x, sizeof i);
  return i << 1 == 0;
}
GCWSNET_INLINE bool is_zero(double x) {
  std::uint64_t i;
  __builtin_memcpy(&i, &x, sizeof i);
  return i << 1 == 0;
}

GCWSNET_INLINE void parts_of(const float* x, std::size_t n, Parts& parts) {
  for (std::size_t at = 0; at < n; at += kLanes) {
    const Ints i = bits<Ints>(absolute(load<Floats>(x + at)));
    const Ints subnormal = i < ints(1 << 23);
    // The bits of a subnormal, read as a whole number, are its multiple of 2^-149.
    const Floats scaled = select(subnormal, to_floats(i), bits<Floats>(i));
    const Ints e = exponent(scaled);
    store(parts.e + at, to_floats(e - (subnormal & ints(149))));
    store(parts.f + at, mantissa(scaled, e) - floats(1.0f));
    parts.any_special[at / kLanes] = any((i == ints(0)) | (ints(0x7f7fffff) < i));
  }
}

typedef std::uint64_t LongWords __attribute__((vector_size(8 * kLanes / 4)));
typedef double FourDoubles __attribute__((vector_size(8 * kLanes / 4)));
typedef float FourFloats __attribute__((vector_size(4 * kLanes / 4)));
typedef std::int32_t FourInts __attribute__((vector_size(4 * kLanes / 4)));

GCWSNET_INLINE void parts_of(const double* x, std::size_t n, Parts& parts) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 52;
  for (std::size_t at = 0; at < n; at += kLanes) {
    LongWords special = {};
#pragma GCC unroll 4
    for (std::size_t four = at; four < at + kLanes; four += 4) {
      LongWords i;
      __builtin_memcpy(&i, x + four, sizeof i);
      i &= 0x7fffffffffffffffu;
      const LongWords subnormal = (LongWords)(i < kOne);
      special |= subnormal | (LongWords)(i >= 0x7ff0000000000000u);
      // 1024 is added to the exponent so that what is shifted is positive.
      const LongWords shifted = (i - kSqrtHalfOfDouble + (kOne << 10)) >> 52;
      const FourDoubles m = (FourDoubles)(i - ((shifted - 1024) << 52));
      const FourInts e = __builtin_convertvector(shifted, FourInts) - 1024;
      const FourFloats e_float = __builtin_convertvector(e, FourFloats);
      const FourFloats f = __builtin_convertvector(m - 1.0, FourFloats);
      __builtin_memcpy(parts.e + four, &e_float, sizeof e_float);
      __builtin_memcpy(parts.f + four, &f, sizeof f);
    }
    parts.any_special[at / kLanes] = (special[0] | special[1] | special[2] | special[3]) != 0;
    if (!parts.any_special[at / kLanes]) continue;
    for (std::size_t lane = at; lane < at + kLanes; ++lane) {
      std::uint64_t i;
      __builtin_memcpy(&i, x + lane, sizeof i);
      i &= 0x7fffffffffffffffu;
      if (i == 0 || i >= kOne) continue;
      // The bits of a subnormal, read as a whole number, are its multiple of 2^-1074.
      const double scaled = static_cast<double>(i);
      std::uint64_t bits_of_scaled;
      __builtin_memcpy(&bits_of_scaled, &scaled, sizeof scaled);
      const std::uint64_t shifted = (bits_of_scaled - kSqrtHalfOfDouble + (kOne << 10)) >> 52;
      const std::uint64_t m_bits = bits_of_scaled - ((shifted - 1024) << 52);
      double m;
      __builtin_memcpy(&m, &m_bits, sizeof m);
      parts.e[lane] = static_cast<float>(static_cast<std::int32_t>(shifted) - 1024 - 1074);
      parts.f[lane] = static_cast<float>(m - 1.0);
    }
  }
}

// L = p ln|x| for n numbers, minus infinity where x is zero (and, if wanted, where it is NaN: `nan_is_zero`).
// False if a number is infinite or NaN and not allowed; L is then of no use.
template <class Number>
bool scaled_logarithms(const Number* x, std::size_t n, float p, bool nan_is_zero, float* L) {
  Parts parts;
  Number rest[kPartsAtOnce];
  float out[kPartsAtOnce];
  for (std::size_t start = 0; start < n; start += kPartsAtOnce) {
    const std::size_t here = n - start < kPartsAtOnce ? n - start : kPartsAtOnce;
    const std::size_t padded = (here + kLanes - 1) / kLanes * kLanes;
    const Number* from = x + start;
    float* to = L + start;
    if (padded != here) {  // the last numbers are filled up to whole packs
      for (std::size_t i = 0; i < padded; ++i) rest[i] = i < here ? from[i] : Number{1};
      from = rest;
      to = out;
    }
    parts_of(from, padded, parts);
    for (std::size_t at = 0; at < padded; at += kLanes) {
      const Floats logarithm = load<Floats>(parts.e + at) * floats(kLn2) + log1p_polynomial(load<Floats>(parts.f + at));
      store(to + at, floats(p) * logarithm);
      if (!parts.any_special[at / kLanes]) continue;
      for (std::size_t lane = at; lane < at + kLanes; ++lane) {
        const bool nan = from[lane] != from[lane];
        if (is_zero(from[lane]) || (nan && nan_is_zero)) to[lane] = -__builtin_inff();
        else if (nan || __builtin_isinf(from[lane])) return false;
      }
    }
    if (padded != here) __builtin_memcpy(L + start, out, here * sizeof(float));
  }
  return true;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
