// The natural logarithm, in float32, by a fixed sequence of operations: the same bits on every machine.
//
// x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1, ln x = e ln 2 + (f - f^2/2 + f^3 Q(f)). Q is a minimax
// polynomial of degree 7; the relative error of the result is under 2^-23. gcwsnet.hashing has the same in NumPy.
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

// L = p ln|x| for n numbers, in whole packs, minus infinity for a zero; where `special`, infinity or NaN may be among
// sixteen.
//
// |x| = 2^e m is taken apart by whole-number arithmetic on bits: subnormal numbers are numbers like others here,
// however the processor is set to treat them. A number that both types hold gives the same e and m from both.
inline constexpr std::size_t kAtOnce = 256;  // numbers
GCWSNET_INLINE void scaled_packs(const float* x, std::size_t n, float p, float* L, bool* special) {
  for (std::size_t at = 0; at < n; at += kLanes) {
    const Floats size = absolute(load<Floats>(x + at));
    const Ints i = bits<Ints>(size);
    const Ints subnormal = i < ints(1 << 23), not_finite = ints(0x7f7fffff) < i;
    special[at / kLanes] = false;
    if (!any(subnormal | not_finite)) {
      store(L + at, floats(p) * log(size));
      continue;
    }
    // The bits of a subnormal, read as a whole number, are its multiple of 2^-149.
    const Floats scaled = select(subnormal, to_floats(i), size);
    const Ints e = exponent(scaled);
    const Floats e_or_none = select(i == ints(0), floats(-__builtin_inff()), to_floats(e - (subnormal & ints(149))));
    const Floats logarithm = e_or_none * floats(kLn2) + log1p_polynomial(mantissa(scaled, e) - floats(1.0f));
    store(L + at, floats(p) * logarithm);
    special[at / kLanes] = any(not_finite);
  }
}

typedef std::uint64_t LongWords __attribute__((vector_size(8 * kLanes / 4)));
typedef double FourDoubles __attribute__((vector_size(8 * kLanes / 4)));

GCWSNET_INLINE void scaled_packs(const double* x, std::size_t n, float p, float* L, bool* special) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 52;
  float e[kAtOnce], f[kAtOnce];  // f = m - 1
  for (std::size_t at = 0; at < n; at += kLanes) {
    LongWords unusual = {};
#pragma GCC unroll 4
    for (std::size_t four = at; four < at + kLanes; four += 4) {
      LongWords i;
      __builtin_memcpy(&i, x + four, sizeof i);
      i &= 0x7fffffffffffffffu;
      unusual |= (LongWords)(i - 1 < kOne - 1) | (LongWords)(i >= 0x7ff0000000000000u);
      // 1024 is added to the exponent so that what is shifted is positive.
      const LongWords shifted = (i - kSqrtHalfOfDouble + (kOne << 10)) >> 52;
      const FourDoubles m = (FourDoubles)(i - ((shifted - 1024) << 52));
      const FourInts whole = __builtin_convertvector(shifted, FourInts) - 1024;
      const FourInts zero = __builtin_convertvector(i == 0, FourInts);
      const FourFloats e_or_none = zero ? FourFloats{} - __builtin_inff() : __builtin_convertvector(whole, FourFloats);
      const FourFloats rest = __builtin_convertvector(m - 1.0, FourFloats);
      __builtin_memcpy(e + four, &e_or_none, sizeof e_or_none);
      __builtin_memcpy(f + four, &rest, sizeof rest);
    }
    special[at / kLanes] = (unusual[0] | unusual[1] | unusual[2] | unusual[3]) != 0;
    if (!special[at / kLanes]) continue;
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
      e[lane] = static_cast<float>(static_cast<std::int32_t>(shifted) - 1024 - 1074);
      f[lane] = static_cast<float>(m - 1.0);
    }
  }
  for (std::size_t at = 0; at < n; at += kLanes) {
    store(L + at, floats(p) * (load<Floats>(e + at) * floats(kLn2) + log1p_polynomial(load<Floats>(f + at))));
  }
}

// L = p ln|x| for n numbers, minus infinity where x is zero (and, if wanted, where it is NaN: `nan_is_zero`).
// False if a number is infinite or NaN and not allowed; L is then of no use.
template <class Number>
bool scaled_logarithms(const Number* x, std::size_t n, float p, bool nan_is_zero, float* L) {
  Number rest[kAtOnce];
  float out[kAtOnce];
  bool special[kAtOnce / kLanes];
  for (std::size_t start = 0; start < n; start += kAtOnce) {
    const std::size_t here = n - start < kAtOnce ? n - start : kAtOnce;
    const std::size_t padded = (here + kLanes - 1) / kLanes * kLanes;
    const Number* from = x + start;
    float* to = L + start;
    if (padded != here) {  // the last numbers are filled up to whole packs
      for (std::size_t i = 0; i < padded; ++i) rest[i] = i < here ? from[i] : Number{1};
      from = rest;
      to = out;
    }
    scaled_packs(from, padded, p, to, special);
    for (std::size_t at = 0; at < padded; at += kLanes) {
      if (!special[at / kLanes]) continue;
      for (std::size_t lane = at; lane < at + kLanes; ++lane) {
        const bool nan = from[lane] != from[lane];
        if (nan && nan_is_zero)
          to[lane] = -__builtin_inff();
        else if (nan || __builtin_isinf(from[lane]))
          return false;
      }
    }
    if (padded != here) __builtin_memcpy(L + start, out, here * sizeof(float));
  }
  return true;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
