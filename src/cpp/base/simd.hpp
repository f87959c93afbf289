// Sixteen numbers at a time, in the registers of the instruction set being compiled.
//
// This header and those built on it, *.simd.hpp, are compiled once per instruction set, each time into a namespace of
// its own, GCWSNET_ISA (the functions.simd.cpp of each module, and dispatch.hpp, which chooses). They use no inline
// function of the standard library: the linker keeps one copy of such a function, and a copy with AVX-512 in it must
// not end up in the code of a machine without.
//
// Every operation is a single IEEE operation, rounded once, so all instruction sets give the same bits. The build turns
// contraction of a * b + c into one rounding off (-ffp-contract=off).
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifndef GCWSNET_ISA
#error "GCWSNET_ISA names the namespace of the instruction set being compiled"
#endif

#define GCWSNET_INLINE inline __attribute__((always_inline))

namespace gcwsnet {
namespace GCWSNET_ISA {

#if defined(__AVX512F__)
inline constexpr int kRegisterLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kRegisterLanes = 8;
#else
inline constexpr int kRegisterLanes = 4;
#endif

// One pack is a block of hashes. The tables of parameters are laid out in packs whatever the instruction set.
inline constexpr int kLanes = 16;
inline constexpr int kParts = kLanes / kRegisterLanes;

typedef float FloatRegister __attribute__((vector_size(4 * kRegisterLanes)));
typedef std::int32_t IntRegister __attribute__((vector_size(4 * kRegisterLanes)));
typedef std::uint32_t WordRegister __attribute__((vector_size(4 * kRegisterLanes)));
typedef double DoubleRegister __attribute__((vector_size(4 * kRegisterLanes)));

template <class Register>
struct Pack {
  Register part[kParts];
};
using Floats = Pack<FloatRegister>;
using Ints = Pack<IntRegister>;  // also the result of a comparison: all bits set where it holds
using Words = Pack<WordRegister>;

template <class Out, class Function, class... Packs>
GCWSNET_INLINE Out each(Function function, const Packs&... packs) {
  Out out;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) out.part[i] = function(packs.part[i]...);
  return out;
}

#define GCWSNET_OPERATOR(symbol)                                                      \
  template <class R>                                                                  \
  GCWSNET_INLINE Pack<R> operator symbol(const Pack<R>& a, const Pack<R>& b) {        \
    return each<Pack<R>>([](const R& x, const R& y) { return R(x symbol y); }, a, b); \
  }
GCWSNET_OPERATOR(+)
GCWSNET_OPERATOR(-)
GCWSNET_OPERATOR(*)
GCWSNET_OPERATOR(/)
GCWSNET_OPERATOR(&)
GCWSNET_OPERATOR(|)
GCWSNET_OPERATOR(^)
#undef GCWSNET_OPERATOR

template <class R>
GCWSNET_INLINE Ints operator<(const Pack<R>& a, const Pack<R>& b) {
  return each<Ints>([](const R& x, const R& y) { return IntRegister(x < y); }, a, b);
}
template <class R>
GCWSNET_INLINE Ints operator==(const Pack<R>& a, const Pack<R>& b) {
  return each<Ints>([](const R& x, const R& y) { return IntRegister(x == y); }, a, b);
}
template <class R>
GCWSNET_INLINE Pack<R> operator>>(const Pack<R>& a, int n) {
  return each<Pack<R>>([n](const R& x) { return R(x >> n); }, a);
}
template <class R>
GCWSNET_INLINE Pack<R> operator<<(const Pack<R>& a, int n) {
  return each<Pack<R>>([n](const R& x) { return R(x << n); }, a);
}

GCWSNET_INLINE Floats floats(float x) {
  return each<Floats>([x](const FloatRegister& zero) { return x - zero; }, Floats{});
}
GCWSNET_INLINE Ints ints(std::int32_t x) {
  return each<Ints>([x](const IntRegister& zero) { return x - zero; }, Ints{});
}
GCWSNET_INLINE Words words(std::uint32_t x) {
  return each<Words>([x](const WordRegister& zero) { return x - zero; }, Words{});
}

// Memory is reached by memcpy, a register at a time: no alignment is asked for.
template <class P>
GCWSNET_INLINE P load(const void* from) {
  P pack;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    __builtin_memcpy(&pack.part[i], static_cast<const char*>(from) + i * sizeof pack.part[i], sizeof pack.part[i]);
  }
  return pack;
}
template <class P>
GCWSNET_INLINE void store(void* to, const P& pack) {
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    __builtin_memcpy(static_cast<char*>(to) + i * sizeof pack.part[i], &pack.part[i], sizeof pack.part[i]);
  }
}

// The same bits, read as another type.
template <class To, class R>
GCWSNET_INLINE To bits(const Pack<R>& pack) {
  return each<To>([](const R& x) { return (decltype(To::part[0] + To::part[0]))x; }, pack);
}

GCWSNET_INLINE Floats to_floats(const Ints& a) {
  return each<Floats>([](const IntRegister& x) { return __builtin_convertvector(x, FloatRegister); }, a);
}
// For |x| < 2^31.
GCWSNET_INLINE Ints to_ints(const Floats& a) {
  return each<Ints>([](const FloatRegister& x) { return __builtin_convertvector(x, IntRegister); }, a);
}

template <class R>
GCWSNET_INLINE R select_register(const IntRegister& condition, const R& yes, const R& no) {
#if defined(__aarch64__)
  return (R)vbslq_u32((uint32x4_t)condition, (uint32x4_t)yes, (uint32x4_t)no);
#else
  return condition ? yes : no;
#endif
}
template <class R>
GCWSNET_INLINE Pack<R> select(const Ints& condition, const Pack<R>& yes, const Pack<R>& no) {
  return each<Pack<R>>(select_register<R>, condition, yes, no);
}

// The greater, or the smaller, of two numbers that are not NaN. Of a zero and a minus zero: b.
GCWSNET_INLINE FloatRegister maximum_register(const FloatRegister& x, const FloatRegister& y) {
#if defined(__AVX512F__)
  return (FloatRegister)_mm512_maskz_max_ps(0xffff, (__m512)x, (__m512)y);
#elif defined(__AVX2__)
  return (FloatRegister)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (FloatRegister)_mm_max_ps((__m128)x, (__m128)y);
#else
  return x > y ? x : y;
#endif
}
GCWSNET_INLINE FloatRegister minimum_register(const FloatRegister& x, const FloatRegister& y) {
#if defined(__AVX512F__)
  return (FloatRegister)_mm512_maskz_min_ps(0xffff, (__m512)x, (__m512)y);
#elif defined(__AVX2__)
  return (FloatRegister)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (FloatRegister)_mm_min_ps((__m128)x, (__m128)y);
#else
  return x < y ? x : y;
#endif
}
GCWSNET_INLINE Floats maximum(const Floats& a, const Floats& b) { return each<Floats>(maximum_register, a, b); }
GCWSNET_INLINE Floats minimum(const Floats& a, const Floats& b) { return each<Floats>(minimum_register, a, b); }

// One bit for each lane, the lowest for the first: whether the comparison holds there.
GCWSNET_INLINE std::uint32_t lanes_where(const Ints& condition) {
#if defined(__aarch64__)
  // A byte of all ones for each lane, then its own bit of eight, which pairwise sums bring together in two bytes.
  const uint16x8_t first = vuzp1q_u16((uint16x8_t)condition.part[0], (uint16x8_t)condition.part[1]);
  const uint16x8_t second = vuzp1q_u16((uint16x8_t)condition.part[2], (uint16x8_t)condition.part[3]);
  const uint8x16_t bit = (uint8x16_t)vdupq_n_u64(0x8040201008040201u);
  const uint8x16_t set = vandq_u8(vuzp1q_u8((uint8x16_t)first, (uint8x16_t)second), bit);
  const uint8x16_t pairs = vpaddq_u8(set, set);
  const uint8x16_t fours = vpaddq_u8(pairs, pairs);
  return vgetq_lane_u16((uint16x8_t)vpaddq_u8(fours, fours), 0);
#else
  std::uint32_t lanes = 0;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
#if defined(__AVX512F__)
    const std::uint32_t here = _mm512_movepi32_mask((__m512i)condition.part[i]);
#elif defined(__AVX2__)
    const std::uint32_t here = _mm256_movemask_ps((__m256)condition.part[i]);
#elif defined(__SSE2__)
    const std::uint32_t here = _mm_movemask_ps((__m128)condition.part[i]);
#else
    std::uint32_t here = 0;
    for (int lane = 0; lane < kRegisterLanes; ++lane) here |= (condition.part[i][lane] & 1u) << lane;
#endif
    lanes |= here << (i * kRegisterLanes);
  }
  return lanes;
#endif
}

// Lane n of the result is lane from[n] of the sixteen numbers at `numbers`.
template <class P>
GCWSNET_INLINE P permuted(const void* numbers, const Words& from) {
#if defined(__AVX512F__)
  const Words all = load<Words>(numbers);
  Words out;
  out.part[0] = (WordRegister)_mm512_maskz_permutexvar_epi32(0xffff, (__m512i)from.part[0], (__m512i)all.part[0]);
  return bits<P>(out);
#elif defined(__AVX2__)
  const Words all = load<Words>(numbers);
  Words out;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    const __m256i index = (__m256i)from.part[i];
    const __m256i first = _mm256_permutevar8x32_epi32((__m256i)all.part[0], index);
    const __m256i second = _mm256_permutevar8x32_epi32((__m256i)all.part[1], index);
    const __m256 of_second = (__m256)_mm256_slli_epi32(index, 28);
    out.part[i] = (WordRegister)_mm256_blendv_ps((__m256)first, (__m256)second, of_second);
  }
  return bits<P>(out);
#elif defined(__aarch64__)
  const uint8x16x4_t all = vld1q_u8_x4(static_cast<const std::uint8_t*>(numbers));
  // The places of the four bytes of each number.
  const Words bytes = from * words(0x04040404u) + words(0x03020100u);
  return bits<P>(each<Words>(
      [&all](const WordRegister& place) { return (WordRegister)vqtbl4q_u8(all, (uint8x16_t)place); }, bytes));
#else
  std::uint32_t all[kLanes], index[kLanes], out[kLanes];
  __builtin_memcpy(all, numbers, sizeof all);
  store(index, from);
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = all[index[lane]];
  return load<P>(out);
#endif
}

GCWSNET_INLINE std::uint32_t word_at(const void* numbers, std::size_t place) {
  std::uint32_t word;
  __builtin_memcpy(&word, static_cast<const char*>(numbers) + place * sizeof word, sizeof word);
  return word;
}

// Lane n of the result is numbers[at[n]]; places are below 2^31.
template <class P>
GCWSNET_INLINE P gathered(const void* numbers, const Words& at) {
#if defined(__AVX512F__)
  Words out;
  out.part[0] =
      (WordRegister)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, (__m512i)at.part[0], numbers, 4);
  return bits<P>(out);
#elif defined(__AVX2__)
  Words out;
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
    out.part[i] = (WordRegister)_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), static_cast<const int*>(numbers),
                                                            (__m256i)at.part[i], _mm256_set1_epi32(-1), 4);
  }
  return bits<P>(out);
#elif defined(__aarch64__)
  // Each number is loaded right into its lane; two places leave a register at once.
  return bits<P>(each<Words>(
      [numbers](const WordRegister& places) {
        const std::uint64_t low = vgetq_lane_u64((uint64x2_t)places, 0), high = vgetq_lane_u64((uint64x2_t)places, 1);
        uint32x4_t four = vdupq_n_u32(word_at(numbers, low & 0xffffffffu));
        four = vsetq_lane_u32(word_at(numbers, low >> 32), four, 1);
        four = vsetq_lane_u32(word_at(numbers, high & 0xffffffffu), four, 2);
        return (WordRegister)vsetq_lane_u32(word_at(numbers, high >> 32), four, 3);
      },
      at));
#else
  std::uint32_t index[kLanes], out[kLanes];
  store(index, at);
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = word_at(numbers, index[lane]);
  return load<P>(out);
#endif
}

// Four numbers, in any instruction set.
typedef float FourFloats __attribute__((vector_size(16)));
typedef std::int32_t FourInts __attribute__((vector_size(16)));

// The columns of the square of four rows x.
template <class Four>
GCWSNET_INLINE void transpose_four(Four* x) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  const Four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  const Four d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return;
#endif
#endif
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) {
      const auto swapped = x[i][j];
      x[i][j] = x[j][i];
      x[j][i] = swapped;
    }
  }
}

// The transposed copy of a square of sixteen rows, `from_stride` numbers of four bytes apart.
GCWSNET_INLINE void transpose(const void* from, std::size_t from_stride, void* to, std::size_t to_stride) {
  for (std::size_t row = 0; row < kLanes; row += 4) {
    for (std::size_t column = 0; column < kLanes; column += 4) {
      FourInts x[4];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        __builtin_memcpy(&x[i], static_cast<const char*>(from) + ((row + i) * from_stride + column) * 4, sizeof x[i]);
      }
      transpose_four(x);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        __builtin_memcpy(static_cast<char*>(to) + ((column + i) * to_stride + row) * 4, &x[i], sizeof x[i]);
      }
    }
  }
}

// Whether a bit is set in any lane.
GCWSNET_INLINE bool any_bit(const IntRegister& x) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)x, (__m256i)x);
#elif defined(__aarch64__)
  return vmaxvq_u32((uint32x4_t)x) != 0;
#else
  std::uint64_t halves[2];
  __builtin_memcpy(halves, &x, sizeof halves);
  return (halves[0] | halves[1]) != 0;
#endif
}
// Whether a comparison holds in any lane.
GCWSNET_INLINE bool any(const Ints& condition) {
  IntRegister either = condition.part[0];
#pragma GCC unroll 4
  for (int i = 1; i < kParts; ++i) either |= condition.part[i];
  return any_bit(either);
}

GCWSNET_INLINE Floats absolute(const Floats& a) { return bits<Floats>(bits<Words>(a) & words(0x7fffffffu)); }

GCWSNET_INLINE FloatRegister floor_register(const FloatRegister& x) {
#if defined(__AVX512F__)
  return (FloatRegister)_mm512_maskz_roundscale_ps(0xffff, (__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return (FloatRegister)_mm256_floor_ps((__m256)x);
#elif defined(__aarch64__)
  return (FloatRegister)vrndmq_f32((float32x4_t)x);
#else
  // Adding 2^23 rounds to a whole number; from 2^23 on every float is one (and infinity stays what it is).
  const FloatRegister zero = {};
  const FloatRegister big = zero + 0x1p23f;
  const FloatRegister size = x < zero ? -x : x;
  const FloatRegister near = (size + big) - big;
  const FloatRegister whole = x < zero ? -near : near;
  const FloatRegister below = whole > x ? whole - 1.0f : whole;
  return size < big ? below : x;
#endif
}
GCWSNET_INLINE Floats floor(const Floats& a) { return each<Floats>(floor_register, a); }

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
