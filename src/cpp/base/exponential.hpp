// The exponential function and the natural logarithm in float64, by a fixed sequence of operations that are each
// rounded once: the same bits on every machine, which the functions of a C library are not. Relative errors are below
// 2^-51.
#pragma once

#include <bit>
#include <cstdint>

namespace gcwsnet {

inline constexpr double kLn2High = 0x1.62e42feep-1;       // 32 bits: its products with exponents are exact
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;  // ln 2 - kLn2High
inline constexpr double kMinExponential = -708.0;         // below it, exp(x) counts as exp(-708) = 3e-308

// exp(x) for finite x up to 700: x = n ln 2 + r with |r| <= ln(2) / 2, and the Taylor series of exp(r).
inline double exponential(double x) {
  constexpr double kInverseFactorial[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
  constexpr double kRound = 0x1.8p52;  // adding it rounds to a whole number, which then stands in the low bits
  x = x < kMinExponential ? kMinExponential : x;
  const double shifted = x * 0x1.71547652b82fep+0 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 0.0;
  for (const double factor : kInverseFactorial) sum = sum * r + factor;
  return sum * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

// ln x for positive normal x: x = 2^e m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh s
// with s = (m - 1) / (m + 1).
inline double logarithm(double x) {
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::int64_t e = static_cast<std::int64_t>(bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(e) << 52));
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double sum = 0.0;
  for (int n = 23; n >= 3; n -= 2) sum = (sum + 1.0 / n) * s2;
  const double exponent = static_cast<double>(e);
  return exponent * kLn2High + (2.0 * s + (2.0 * s * sum + exponent * kLn2Low));
}

}  // namespace gcwsnet
