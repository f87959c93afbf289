// Memory for tables, aligned to the lines of the cache: a row of a table then takes no line more than it must. A large
// table asks for large pages: its rows are met in no order, and each page has to be looked up.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gcwsnet {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

struct FreeAligned {
  std::align_val_t alignment{kCacheLine};
  void operator()(void* numbers) const { ::operator delete[](numbers, alignment); }
};
template <class Number>
using Aligned = std::unique_ptr<Number[], FreeAligned>;

// Not cleared.
template <class Number>
Aligned<Number> aligned(std::size_t n) {
  const std::size_t bytes = n * sizeof(Number);
  const std::align_val_t alignment{bytes < kLargePage ? kCacheLine : kLargePage};
  Aligned<Number> numbers(static_cast<Number*>(::operator new[](bytes, alignment)), FreeAligned{alignment});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kLargePage)
    madvise(numbers.get(), bytes / kLargePage * kLargePage, MADV_HUGEPAGE);  // a wish: it may fail
#endif
  return numbers;
}

}  // namespace gcwsnet
