// Decimal numbers as people write them: the double nearest to the text, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#if !defined(__cpp_lib_to_chars)
#include <clocale>
#include <cstdlib>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace gcwsnet {

enum class DecimalKind { kNone, kFinite, kOverflow, kInfinity, kNan };

struct Decimal {
  DecimalKind kind;
  double value;
  const char* end;  // behind the last character of the number
};

namespace decimal {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline const char* skip_word(const char* at, const char* end, const char* word) {
  for (; *word != '\0'; ++word, ++at) {
    if (at == end || lower(*at) != *word) return nullptr;
  }
  return at;
}

inline Decimal named(const char* at, const char* end, bool negative) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* word : {"infinity", "inf"}) {
    if (const char* behind = skip_word(at, end, word)) {
      return {DecimalKind::kInfinity, negative ? -infinity : infinity, behind};
    }
  }
  if (const char* behind = skip_word(at, end, "nan")) {
    return {DecimalKind::kNan, std::numeric_limits<double>::quiet_NaN(), behind};
  }
  return {DecimalKind::kNone, 0.0, at};
}

// e of the decimal power 10^e just above the digits of a number, its written exponent left out.
inline std::int64_t magnitude(const char* at, const char* end) {
  std::int64_t before = 0, zeros = 0;
  bool seen = false, fraction = false;
  for (; at != end && (is_digit(*at) || *at == '.'); ++at) {
    if (*at == '.') {
      fraction = true;
      if (seen) break;
    } else if (seen) {
      ++before;
    } else if (*at != '0') {
      seen = true;
      if (fraction) break;
      ++before;
    } else if (fraction) {
      ++zeros;
    }
  }
  return before - zeros;
}

// Any number of digits, correctly rounded. Too small ones become zero, too large ones infinite.
inline double rounded(const char* at, const char* end, std::int64_t exponent) {
  double value = 0.0;
#if defined(__cpp_lib_to_chars)
  if (std::from_chars(at, end, value).ec == std::errc::result_out_of_range) {
    return magnitude(at, end) + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
#else
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  static_cast<void>(exponent);
  value = strtod_l(std::string(at, end).c_str(), nullptr, c_locale);
#endif
  return value;
}

}  // namespace decimal

// The number that begins at `at`: [+-] digits [. digits] [e [+-] digits], or inf, infinity, nan in any case.
inline Decimal read_decimal(const char* at, const char* end) {
  // Powers of ten that a double holds exactly. A product or quotient of two exact numbers is rounded once (Clinger
  // 1990).
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::int64_t kMaxExponent = 1000000000;
  using decimal::is_digit;

  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const char* const first = at;
  std::uint64_t digits = 0;  // wraps around where there are more than 19, and is then not used
  for (; at != end && is_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
  std::int64_t n_digits = at - first, exponent = 0;
  if (at != end && *at == '.') {
    const char* const fraction = ++at;
    for (; at != end && is_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    exponent = -(at - fraction);
    n_digits -= exponent;
  }
  if (n_digits == 0) return decimal::named(first, end, negative);

  std::int64_t written = 0;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* power = at + 1;
    const bool below_one = power != end && *power == '-';
    if (power != end && (*power == '-' || *power == '+')) ++power;
    if (power != end && is_digit(*power)) {
      for (; power != end && is_digit(*power); ++power) {
        written = std::min(kMaxExponent, written * 10 + (*power - '0'));
      }
      if (below_one) written = -written;
      at = power;
    }
  }
  exponent += written;

  double value;
  if (n_digits <= 19 && digits <= std::uint64_t{1} << 53 && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
  } else {
    value = decimal::rounded(first, at, written);
  }
  return {std::isinf(value) ? DecimalKind::kOverflow : DecimalKind::kFinite, negative ? -value : value, at};
}

}  // namespace gcwsnet
