#include "search/bands.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/keys.hpp"

namespace gcwsnet {

namespace {

constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325, kFnvPrime = 0x100000001b3;

template <class Code>
std::uint32_t key_of(const unsigned char* codes, std::size_t width) {
  std::uint64_t state = kFnvBasis;
  for (std::size_t j = 0; j < width; ++j) {
    Code code;
    std::memcpy(&code, codes + j * sizeof code, sizeof code);
    state = (state ^ code) * kFnvPrime;
  }
  return static_cast<std::uint32_t>(mix64(state) >> 32);
}

std::uint32_t key_of_packed(const unsigned char* row, std::size_t first, std::size_t width, unsigned bits) {
  std::uint64_t state = kFnvBasis;
  for (std::size_t place = first * bits; place < (first + width) * bits; place += bits) {
    state = (state ^ (row[place / 8] >> place % 8 & ((1u << bits) - 1))) * kFnvPrime;
  }
  return static_cast<std::uint32_t>(mix64(state) >> 32);
}

// Rows by key, equal keys in their order: three passes over 11 bits.
class RadixSort {
 public:
  explicit RadixSort(std::size_t n) : keys_(n), rows_(n) {}

  void operator()(std::uint32_t* keys, std::uint32_t* rows) {
    pass(keys, rows, keys_.data(), rows_.data(), 0);
    pass(keys_.data(), rows_.data(), keys, rows, 11);
    pass(keys, rows, keys_.data(), rows_.data(), 22);
    std::copy(keys_.begin(), keys_.end(), keys);
    std::copy(rows_.begin(), rows_.end(), rows);
  }

 private:
  void pass(const std::uint32_t* keys, const std::uint32_t* rows, std::uint32_t* keys_to, std::uint32_t* rows_to,
            int shift) {
    constexpr std::uint32_t kDigits = 2048;
    std::size_t place[kDigits] = {};
    const std::size_t n = keys_.size();
    for (std::size_t i = 0; i < n; ++i) ++place[(keys[i] >> shift) % kDigits];
    std::size_t before = 0;
    for (std::size_t& here : place) before += std::exchange(here, before);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = place[(keys[i] >> shift) % kDigits]++;
      keys_to[to] = keys[i];
      rows_to[to] = rows[i];
    }
  }

  std::vector<std::uint32_t> keys_, rows_;
};

}  // namespace

std::uint32_t band_key(const unsigned char* row, int code_bits, std::size_t band, std::size_t width) {
  const std::size_t first = band * width;
  if (code_bits < 8) return key_of_packed(row, first, width, static_cast<unsigned>(code_bits));
  if (code_bits == 8) return key_of<std::uint8_t>(row + first, width);
  if (code_bits == 16) return key_of<std::uint16_t>(row + 2 * first, width);
  return key_of<std::uint32_t>(row + 4 * first, width);
}

void build_buckets(const PackedCodes& codes, std::size_t n_bands, std::size_t width, std::uint32_t* keys,
                   std::uint32_t* rows, int n_threads, StopToken& stop_token) {
  const std::size_t n = codes.n_rows;
  constexpr std::size_t kRows = 4096;  // whose codes are read for all bands while they are near
  for_each_block(blocks_of(n, kRows), n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      const std::size_t end = std::min((block + 1) * kRows, n);
      for (std::size_t i = block * kRows; i < end; ++i) {
        for (std::size_t band = 0; band < n_bands; ++band) {
          keys[band * n + i] = band_key(codes.row(i), codes.code_bits, band, width);
        }
      }
    };
  });
  for_each_block(n_bands, n_threads, stop_token, [&] {
    return [&, sort = RadixSort(n)](std::size_t band) mutable {
      for (std::size_t i = 0; i < n; ++i) rows[band * n + i] = static_cast<std::uint32_t>(i);
      sort(keys + band * n, rows + band * n);
    };
  });
}

void merge_buckets(const Buckets& a, const Buckets& b, std::uint32_t shift, std::uint32_t* keys, std::uint32_t* rows,
                   int n_threads, StopToken& stop_token) {
  const std::size_t n = a.n_rows + b.n_rows;
  for_each_block(a.n_bands, n_threads, stop_token, [&] {
    return [&](std::size_t band) {
      const std::uint32_t *keys_a = a.keys + band * a.n_rows, *keys_b = b.keys + band * b.n_rows;
      const std::uint32_t *rows_a = a.rows + band * a.n_rows, *rows_b = b.rows + band * b.n_rows;
      std::size_t i = 0, j = 0;
      for (std::size_t to = band * n; to < (band + 1) * n; ++to) {
        const bool from_a = j == b.n_rows || (i < a.n_rows && keys_a[i] <= keys_b[j]);
        keys[to] = from_a ? keys_a[i] : keys_b[j];
        rows[to] = from_a ? rows_a[i] : rows_b[j] + shift;
        (from_a ? i : j) += 1;
      }
    };
  });
}

std::pair<std::size_t, std::size_t> bucket_of(const std::uint32_t* keys, std::size_t n, std::uint32_t key,
                                              std::size_t guess) {
  std::size_t low = guess, high = guess, step = 4;
  if (keys[guess] < key) {
    while (high < n && keys[high] < key) {
      low = high + 1;
      high = n - high > step ? high + step : n;
      step *= 2;
    }
  } else {
    while (low > 0 && keys[low - 1] >= key) {
      high = low - 1;
      low = low > step ? low - step : 0;
      step *= 2;
    }
  }
  const std::size_t first = static_cast<std::size_t>(std::lower_bound(keys + low, keys + high, key) - keys);
  std::size_t last = first;
  while (last < n && keys[last] == key) ++last;
  return {first, last};
}

}  // namespace gcwsnet
