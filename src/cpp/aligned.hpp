// Room for tables, aligned to the lines of the cache: a row of a table then takes no line more than it must.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace gcwsnet {

inline constexpr std::align_val_t kCacheLine{64};

struct FreeAligned {
  void operator()(void* numbers) const { ::operator delete[](numbers, kCacheLine); }
};
template <class Number>
using Aligned = std::unique_ptr<Number[], FreeAligned>;

// Not cleared.
template <class Number>
Aligned<Number> aligned(std::size_t n) {
  return Aligned<Number>(static_cast<Number*>(::operator new[](n * sizeof(Number), kCacheLine)));
}

}  // namespace gcwsnet
