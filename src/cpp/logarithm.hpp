// The natural logarithm, in float32, by a fixed sequence of operations: the same bits on every machine.
//
// x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1, ln x = e ln 2 + (f - f^2/2 + f^3 Q(f)). Q is a minimax polynomial
// of degree 7; the relative error of the result is under 2^-23. hashing/logarithm.py is the same in NumPy.
#pragma once

#include "simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr std::int32_t kSqrtHalf = 0x3f3504f3;                   // the float just below sqrt(1/2)
inline constexpr std::int64_t kSqrtHalfOfDouble = 0x3fe6a09e60000000;  // the same number as a double

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

struct Split {
  Ints e;
  Floats m;
};
// For positive normal x.
GCWSNET_INLINE Split split(const Floats& x) {
  const Ints i = bits<Ints>(x);
  const Ints e = (i - ints(kSqrtHalf)) >> 23;
  return {e, bits<Floats>(i - (e << 23))};
}

// ln x for positive normal x.
GCWSNET_INLINE Floats log(const Floats& x) {
  const Split s = split(x);
  return to_floats(s.e) * floats(kLn2) + log1p_polynomial(s.m - floats(1.0f));
}

// -ln(1 - w) for w in (0, 1], to full relative accuracy also where w is small; w = 1 counts as 1 - 2^-25.
GCWSNET_INLINE Floats minus_log1m(const Floats& w) {
  const Floats rest = floats(1.0f) - w;
  const Split s = split(select(rest < floats(0x1p-25f), floats(0x1p-25f), rest));
  const Floats f = select(s.e == ints(0), Floats{} - w, s.m - floats(1.0f));
  return Floats{} - (to_floats(s.e) * floats(kLn2) + log1p_polynomial(f));
}

// e and f of sixteen numbers, by whole-number arithmetic on their bits: subnormal numbers are numbers like others here,
// whatever the processor has been told to do with them. A number that fits both types gives the same e and f from both.
struct Parts {
  Floats e, f;
};
GCWSNET_INLINE Parts parts_of(const float* x) {
  const Ints i = bits<Ints>(absolute(load<Floats>(x)));
  const Ints subnormal = i < ints(1 << 23);
  // The bits of a subnormal, read as a whole number, are its multiple of 2^-149.
  const Split s = split(select(subnormal, to_floats(i), bits<Floats>(i)));
  return {to_floats(s.e - select(subnormal, ints(149), ints(0))), s.m - floats(1.0f)};
}
GCWSNET_INLINE Parts parts_of(const double* x) {
  std::int32_t e[kLanes];
  float f[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    std::int64_t i;
    __builtin_memcpy(&i, x + lane, sizeof i);
    i &= 0x7fffffffffffffff;
    const bool subnormal = i < (std::int64_t{1} << 52);
    const double scaled = static_cast<double>(i);
    std::int64_t scaled_bits;
    __builtin_memcpy(&scaled_bits, &scaled, sizeof scaled);
    i = subnormal ? scaled_bits : i;
    // Adding 1024 to the exponent keeps what is shifted positive: a shift of unsigned numbers, which every set has.
    const std::uint64_t shifted = static_cast<std::uint64_t>(i - kSqrtHalfOfDouble) + (std::uint64_t{1024} << 52);
    const std::int64_t exponent = static_cast<std::int64_t>(shifted >> 52) - 1024;
    const std::int64_t m_bits = i - exponent * (std::int64_t{1} << 52);
    double m;
    __builtin_memcpy(&m, &m_bits, sizeof m);
    e[lane] = static_cast<std::int32_t>(exponent) - (subnormal ? 1074 : 0);
    f[lane] = static_cast<float>(m - 1.0);
  }
  return {to_floats(load<Ints>(e)), load<Floats>(f)};
}

template <class Number>
struct Limits;
template <>
struct Limits<float> {
  typedef std::uint32_t Bits;
  static constexpr Bits kMagnitude = 0x7fffffffu, kInfinity = 0x7f800000u;
};
template <>
struct Limits<double> {
  typedef std::uint64_t Bits;
  static constexpr Bits kMagnitude = 0x7fffffffffffffffu, kInfinity = 0x7ff0000000000000u;
};

// L = p ln|x| for n numbers, minus infinity where x is zero (and, if wanted, where it is NaN: `nan_is_zero`).
// False if a number is infinite or NaN and not allowed; L is then of no use.
template <class Number>
bool scaled_logarithms(const Number* x, std::size_t n, float p, bool nan_is_zero, float* L) {
  typedef typename Limits<Number>::Bits Bits;
  bool fine = true;
  for (std::size_t start = 0; start < n; start += kLanes) {
    const std::size_t here = n - start < kLanes ? n - start : kLanes;
    Number values[kLanes] = {};
    __builtin_memcpy(values, x + start, here * sizeof(Number));
    Bits magnitude[kLanes];
    __builtin_memcpy(magnitude, values, sizeof values);
    bool zeros = false;
    bool infinite = false;
    for (int lane = 0; lane < kLanes; ++lane) {
      magnitude[lane] &= Limits<Number>::kMagnitude;
      zeros |= magnitude[lane] == 0;
      infinite |= magnitude[lane] >= Limits<Number>::kInfinity;
    }
    const Parts parts = parts_of(values);
    float out[kLanes];
    store(out, floats(p) * (parts.e * floats(kLn2) + log1p_polynomial(parts.f)));
    if (zeros || infinite) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const bool nan = magnitude[lane] > Limits<Number>::kInfinity;
        if (magnitude[lane] == 0 || (nan && nan_is_zero)) out[lane] = -__builtin_inff();
        else if (magnitude[lane] >= Limits<Number>::kInfinity) fine = false;
      }
    }
    __builtin_memcpy(L + start, out, here * sizeof(float));
  }
  return fine;
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
