// The number of hashes on which the codes of two rows agree: what a search spends its time on.
//
// The lanes of a register count for themselves and are added up at the end. Whole numbers: every instruction set gives
// the same.
#pragma once

#include "base/simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kRegisterBytes = 4 * kRegisterLanes;

template <class Code>
struct CodeLanes {
  typedef Code Register __attribute__((vector_size(kRegisterBytes)));
  static constexpr std::size_t kCount = kRegisterBytes / sizeof(Code);
  static constexpr std::size_t kMaxRounds = sizeof(Code) == 1 ? 255 : 65535;  // before a lane would overflow
};

template <class Code>
GCWSNET_INLINE std::uint32_t sum_of_lanes(const typename CodeLanes<Code>::Register& lanes) {
#if defined(__SSE2__)
  if constexpr (sizeof(Code) == 1) {
#if defined(__AVX512BW__)
    const __m512i eights = _mm512_sad_epu8((__m512i)lanes, _mm512_setzero_si512());
    return static_cast<std::uint32_t>(_mm512_reduce_add_epi64(eights));
#else
#if defined(__AVX2__)
    const __m256i eights = _mm256_sad_epu8((__m256i)lanes, _mm256_setzero_si256());
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(eights), _mm256_extracti128_si256(eights, 1));
#else
    const __m128i two = _mm_sad_epu8((__m128i)lanes, _mm_setzero_si128());
#endif
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(two) + _mm_cvtsi128_si32(_mm_unpackhi_epi64(two, two)));
#endif
  }
#elif defined(__aarch64__)
  if constexpr (sizeof(Code) == 1) return vaddlvq_u8((uint8x16_t)lanes);
  if constexpr (sizeof(Code) == 2) return vaddlvq_u16((uint16x8_t)lanes);
  if constexpr (sizeof(Code) == 4) return vaddvq_u32((uint32x4_t)lanes);
#endif
  std::uint32_t total = 0;
  for (std::size_t lane = 0; lane < CodeLanes<Code>::kCount; ++lane) total += lanes[lane];
  return total;
}

template <class Code>
GCWSNET_INLINE std::uint32_t equal_codes_of(const Code* a, const Code* b, std::size_t n_hashes) {
  using Lanes = CodeLanes<Code>;
  std::uint32_t total = 0;
  std::size_t j = 0;
  for (std::size_t rounds = n_hashes / Lanes::kCount; rounds > 0;) {
    const std::size_t now = rounds < Lanes::kMaxRounds ? rounds : Lanes::kMaxRounds;
    typename Lanes::Register lanes{};
    for (const std::size_t end = j + now * Lanes::kCount; j < end; j += Lanes::kCount) {
      typename Lanes::Register x, y;
      __builtin_memcpy(&x, a + j, sizeof x);
      __builtin_memcpy(&y, b + j, sizeof y);
      lanes -= (typename Lanes::Register)(x == y);
    }
    total += sum_of_lanes<Code>(lanes);
    rounds -= now;
  }
  for (; j < n_hashes; ++j) total += a[j] == b[j];
  return total;
}

// Rows whose codes fill n registers, which hold those of the query from row to row.
template <class Code, std::size_t n>
GCWSNET_INLINE void equal_codes_of_short_rows(const Code* query, const Code* rows, std::size_t n_rows,
                                              std::uint32_t* counts) {
  using Lanes = CodeLanes<Code>;
  typename Lanes::Register of_query[n], row;
  __builtin_memcpy(of_query, query, sizeof of_query);
  for (std::size_t i = 0; i < n_rows; ++i, rows += n * Lanes::kCount) {
    typename Lanes::Register lanes{};
    for (std::size_t j = 0; j < n; ++j) {
      __builtin_memcpy(&row, rows + j * Lanes::kCount, sizeof row);
      lanes -= (typename Lanes::Register)(of_query[j] == row);
    }
    counts[i] = sum_of_lanes<Code>(lanes);
  }
}

template <class Code>
GCWSNET_INLINE void equal_codes_of_rows(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes,
                                        std::uint32_t* counts) {
  const Code* a = static_cast<const Code*>(query);
  const Code* b = static_cast<const Code*>(rows);
  switch (n_hashes) {
    case CodeLanes<Code>::kCount: return equal_codes_of_short_rows<Code, 1>(a, b, n_rows, counts);
    case 2 * CodeLanes<Code>::kCount: return equal_codes_of_short_rows<Code, 2>(a, b, n_rows, counts);
    case 4 * CodeLanes<Code>::kCount: return equal_codes_of_short_rows<Code, 4>(a, b, n_rows, counts);
    case 8 * CodeLanes<Code>::kCount: return equal_codes_of_short_rows<Code, 8>(a, b, n_rows, counts);
  }
  for (std::size_t i = 0; i < n_rows; ++i) counts[i] = equal_codes_of(a, b + i * n_hashes, n_hashes);
}

// The bits of each byte that tell whether packed codes differ: one for each code, the lowest of its bits.
template <int bits, class Number>
GCWSNET_INLINE Number difference(const Number& a, const Number& b) {
  Number x = a ^ b;
  if constexpr (bits == 4) x |= x >> 2;
  if constexpr (bits >= 2) x |= x >> 1;
  return bits == 4 ? x & 0x1111111111111111u : bits == 2 ? x & 0x5555555555555555u : x;
}

// How many of these bits each byte has.
template <int bits, class Number>
GCWSNET_INLINE Number bits_of_bytes(Number x) {
#if defined(__aarch64__)
  if constexpr (sizeof(Number) == kRegisterBytes) return (Number)vcntq_u8((uint8x16_t)x);
#endif
  if constexpr (bits == 1) x -= (x >> 1) & 0x5555555555555555u;
  if constexpr (bits <= 2) x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}

typedef std::uint64_t PackedRegister __attribute__((vector_size(kRegisterBytes)));

// Codes of 1, 2 or 4 bits. What fills up the last byte of a row is the same in all rows.
template <int bits>
GCWSNET_INLINE std::uint32_t different_packed_codes(const unsigned char* a, const unsigned char* b,
                                                    std::size_t n_bytes) {
  constexpr std::size_t kMaxRounds = 31;  // of at most eight codes in a byte, before a lane would overflow
  std::uint32_t total = 0;
  std::size_t j = 0;
  for (std::size_t rounds = n_bytes / kRegisterBytes; rounds > 0;) {
    const std::size_t now = rounds < kMaxRounds ? rounds : kMaxRounds;
    PackedRegister lanes{};
    for (const std::size_t end = j + now * kRegisterBytes; j < end; j += kRegisterBytes) {
      PackedRegister x, y;
      __builtin_memcpy(&x, a + j, sizeof x);
      __builtin_memcpy(&y, b + j, sizeof y);
      lanes += bits_of_bytes<bits>(difference<bits>(x, y));
    }
    total += sum_of_lanes<std::uint8_t>((typename CodeLanes<std::uint8_t>::Register)lanes);
    rounds -= now;
  }
  while (j < n_bytes) {
    const std::size_t now = n_bytes - j < 8 ? n_bytes - j : 8;
    std::uint64_t x = 0, y = 0;
    if (now == 8) {
      __builtin_memcpy(&x, a + j, 8);
      __builtin_memcpy(&y, b + j, 8);
    } else {
      __builtin_memcpy(&x, a + j, now);
      __builtin_memcpy(&y, b + j, now);
    }
    total += static_cast<std::uint32_t>((bits_of_bytes<bits>(difference<bits>(x, y)) * 0x0101010101010101u) >> 56);
    j += now;
  }
  return total;
}

template <int bits>
GCWSNET_INLINE void equal_packed_codes(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes,
                                       std::uint32_t* counts) {
  const unsigned char* a = static_cast<const unsigned char*>(query);
  const unsigned char* b = static_cast<const unsigned char*>(rows);
  const std::size_t n_bytes = (n_hashes * bits + 7) / 8;
  const std::uint32_t all = static_cast<std::uint32_t>(n_hashes);
  for (std::size_t i = 0; i < n_rows; ++i) counts[i] = all - different_packed_codes<bits>(a, b + i * n_bytes, n_bytes);
}

// counts[i] = on how many of n_hashes hashes the query and row i agree. Codes have 1, 2, 4, 8, 16 or 32 bits.
inline void equal_codes(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes, int code_bits,
                        std::uint32_t* counts) {
  switch (code_bits) {
    case 1: return equal_packed_codes<1>(query, rows, n_rows, n_hashes, counts);
    case 2: return equal_packed_codes<2>(query, rows, n_rows, n_hashes, counts);
    case 4: return equal_packed_codes<4>(query, rows, n_rows, n_hashes, counts);
    case 8: return equal_codes_of_rows<std::uint8_t>(query, rows, n_rows, n_hashes, counts);
    case 16: return equal_codes_of_rows<std::uint16_t>(query, rows, n_rows, n_hashes, counts);
    default: return equal_codes_of_rows<std::uint32_t>(query, rows, n_rows, n_hashes, counts);
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
