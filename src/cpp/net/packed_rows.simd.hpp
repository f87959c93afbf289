// Sums of rows of a table that holds some of its rows, in four bits a weight.
//
// A scale is the upper half of a float, so its product with four bits is exact, and only the sums are rounded: one
// after the other, in the order of the lookups, in each lane. So every instruction set gives the same bits.
#pragma once

#include "base/simd.hpp"
#include "net/functions.hpp"
#include "net/table_rows.simd.hpp"

namespace gcwsnet {
namespace GCWSNET_ISA {

// Sixteen weights out of eight bytes: of the two words of four bytes, lane l has bits 4 (l / 2) to 4 (l / 2) + 3 of
// word l % 2, with a sign.
// They come times the scale.
class Scaled {
 public:
  GCWSNET_INLINE explicit Scaled(float scale);
  GCWSNET_INLINE Floats operator()(const std::uint8_t* bytes) const;

 private:
  Floats factors_;  // with AVX-512 the scale times each of the sixteen numbers
};

typedef std::uint64_t WordPairs __attribute__((vector_size(4 * kRegisterLanes)));

GCWSNET_INLINE WordRegister both_words(const std::uint8_t* bytes) {
  std::uint64_t words;
  __builtin_memcpy(&words, bytes, sizeof words);
  return (WordRegister)(WordPairs{} + words);
}

#if defined(__AVX512F__)
Scaled::Scaled(float scale) {
  static constexpr float kNumbers[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
  factors_ = floats(scale) * load<Floats>(kNumbers);
}
Floats Scaled::operator()(const std::uint8_t* bytes) const {
  static constexpr std::uint32_t kShifts[kLanes] = {0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28};
  const WordRegister nibbles = both_words(bytes) >> load<Words>(kShifts).part[0];  // higher bits are not looked at
  Floats out;
  out.part[0] = (FloatRegister)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)nibbles, (__m512)factors_.part[0]);
  return out;
}
#else
Scaled::Scaled(float scale) : factors_(floats(scale)) {}
Floats Scaled::operator()(const std::uint8_t* bytes) const {
  Ints out;
#if defined(__SSE2__) && !defined(__AVX2__)  // which shifts all lanes alike
  const __m128i words = (__m128i)both_words(bytes);
  out.part[0] = (IntRegister)_mm_unpacklo_epi64(_mm_slli_epi32(words, 28), _mm_slli_epi32(words, 24));
  out.part[1] = (IntRegister)_mm_unpacklo_epi64(_mm_slli_epi32(words, 20), _mm_slli_epi32(words, 16));
  out.part[2] = (IntRegister)_mm_unpacklo_epi64(_mm_slli_epi32(words, 12), _mm_slli_epi32(words, 8));
  out.part[3] = (IntRegister)_mm_unpacklo_epi64(_mm_slli_epi32(words, 4), words);
#else
  static constexpr std::uint32_t kShifts[kLanes] = {28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0};
  const WordRegister words = both_words(bytes);
  const Words shifts = load<Words>(kShifts);
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) out.part[i] = (IntRegister)(words << shifts.part[i]);
#endif
  return factors_ * to_floats(out >> 28);
}
#endif

// The sums of some packs of columns, in registers.
template <int kPacks>
GCWSNET_INLINE void add_packs(const PackedRows& rows, const Lookup* lookups, std::size_t n, std::size_t first,
                              float* sum) {
  const std::size_t row_bytes = kScaleBytes + rows.n_packs * kPackBytes;
  const std::size_t n_fetched = first == 0 && rows.ahead != 0 && rows.ahead < n ? n - rows.ahead : 0;
  Floats sums[kPacks];
#pragma GCC unroll 4
  for (int q = 0; q < kPacks; ++q) sums[q] = load<Floats>(sum + q * kLanes);
  for (std::size_t p = 0; p < n; ++p) {
    if (p < n_fetched) {
      const std::uint8_t* next = rows.rows + (lookups[p + rows.ahead] >> 1) * row_bytes;
      __builtin_prefetch(next + row_bytes - 1);
      for (std::size_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(next + at);
    }
    const std::uint8_t* row = rows.rows + (lookups[p] >> 1) * row_bytes;
    const Scaled scaled(__builtin_bit_cast(float, word_at(row, 0) ^ lookups[p] << 31));
    const std::uint8_t* weights = row + kScaleBytes + first * kPackBytes;
#pragma GCC unroll 4
    for (int q = 0; q < kPacks; ++q) sums[q] = sums[q] + scaled(weights + q * kPackBytes);
  }
#pragma GCC unroll 4
  for (int q = 0; q < kPacks; ++q) store(sum + q * kLanes, sums[q]);
}

// sum += the rows, each with its sign, in their order.
inline void add_packed_rows(const PackedRows& rows, const Lookup* lookups, std::size_t n, float* sum) {
  constexpr std::size_t kMaxPacks = kRegisterLanes == 4 ? 2 : 4;  // what the registers have room for
  for (std::size_t first = 0; first < rows.n_packs;) {
    const std::size_t left = rows.n_packs - first, n_packs = left < kMaxPacks ? left : kMaxPacks;
    const auto add = n_packs == 1   ? add_packs<1>
                     : n_packs == 2 ? add_packs<2>
                     : n_packs == 3 ? add_packs<3>
                                    : add_packs<4>;
    add(rows, lookups, n, first, sum + first * kLanes);
    first += n_packs;
  }
}

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
