// The number of hashes on which the codes of two rows agree: what a search spends its time on.
//
// The lanes of a register count for themselves and are added up at the end. Whole numbers: every instruction set gives the
// same.
#pragma once

#include "base/simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

inline constexpr std::size_t kRegisterBytes = 4 * kRegisterLanes;

template <class Code>
struct CodeLanes {
  typedef Code Register __attribute__((vector_size(kRegisterBytes)));
  static constexpr std::size_t kCount = kRegisterBytes / sizeof(Code);
  static constexpr std::size_t kMostRounds = sizeof(Code) == 1 ? 255 : 65535;  // before a lane would overflow
};

template <class Code>
GCWSNET_INLINE std::uint32_t sum_of_lanes(const typename CodeLanes<Code>::Register& lanes) {
#if defined(__SSE2__)
  if constexpr (sizeof(Code) == 1) {
    std::uint64_t sums[kRegisterBytes / 8];
#if defined(__AVX512BW__)
    const __m512i eights = _mm512_sad_epu8((__m512i)lanes, _mm512_setzero_si512());
#elif defined(__AVX2__)
    const __m256i eights = _mm256_sad_epu8((__m256i)lanes, _mm256_setzero_si256());
#else
    const __m128i eights = _mm_sad_epu8((__m128i)lanes, _mm_setzero_si128());
#endif
    __builtin_memcpy(sums, &eights, sizeof sums);
    std::uint64_t total = 0;
    for (const std::uint64_t sum : sums) total += sum;
    return static_cast<std::uint32_t>(total);
  }
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
    const std::size_t now = rounds < Lanes::kMostRounds ? rounds : Lanes::kMostRounds;
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

template <class Code>
GCWSNET_INLINE void equal_codes_of_rows(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes,
                                        std::uint32_t* counts) {
  const Code* a = static_cast<const Code*>(query);
  const Code* b = static_cast<const Code*>(rows);
  for (std::size_t i = 0; i < n_rows; ++i) counts[i] = equal_codes_of(a, b + i * n_hashes, n_hashes);
}

// counts[i] = on how many of n_hashes hashes the query and row i agree. Codes have 1, 2 or 4 bytes.
inline void equal_codes(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes, int code_bytes,
                        std::uint32_t* counts) {
  if (code_bytes == 1) return equal_codes_of_rows<std::uint8_t>(query, rows, n_rows, n_hashes, counts);
  if (code_bytes == 2) return equal_codes_of_rows<std::uint16_t>(query, rows, n_rows, n_hashes, counts);
  equal_codes_of_rows<std::uint32_t>(query, rows, n_rows, n_hashes, counts);
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
