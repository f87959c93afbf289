// The rows of a matrix, dense or CSR, read as lists of non-zero entries (feature, L = p ln|u|).
//
// Column i has two features, 2i for its positive part and 2i + 1 for its negative part (the paper's transformation (1),
// counted from zero).
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hashing/functions.hpp"

namespace gcwsnet {

// A number of the data is infinite or NaN. The caller knows how to find it.
struct NotFinite : std::runtime_error {
  NotFinite() : std::runtime_error("an entry is infinite or NaN") {}
};

// How numbers become entries.
struct ReadOptions {
  float p;
  bool nan_is_zero;
};

// An allocator that leaves new numbers uninitialized where std::allocator would set them to zero.
template <class T>
struct DefaultInitAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = DefaultInitAllocator<U>;
  };
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... From>
  void construct(U* at, From&&... from) {
    ::new (static_cast<void*>(at)) U(std::forward<From>(from)...);
  }
};
template <class T>
using UninitializedVector = std::vector<T, DefaultInitAllocator<T>>;

struct EntryBuffer {
  UninitializedVector<std::uint32_t> feature;
  UninitializedVector<float> L;

  void clear() {
    feature.clear();
    L.clear();
  }
  std::size_t size() const { return feature.size(); }
  void resize(std::size_t n) {
    feature.resize(n);
    L.resize(n);
  }
};

inline bool scaled_logarithms(const HashingFunctions& functions, const float* x, std::size_t n, const ReadOptions& how,
                              float* L) {
  return functions.scaled_logarithms_f32(x, n, how.p, how.nan_is_zero, L);
}
inline bool scaled_logarithms(const HashingFunctions& functions, const double* x, std::size_t n, const ReadOptions& how,
                              float* L) {
  return functions.scaled_logarithms_f64(x, n, how.p, how.nan_is_zero, L);
}

inline bool dense_entries(const HashingFunctions& functions, const float* x, std::size_t n, const ReadOptions& how,
                          std::uint32_t* feature, float* L, RowSummary& row) {
  return functions.dense_entries_f32(x, n, how.p, how.nan_is_zero, feature, L, row);
}
inline bool dense_entries(const HashingFunctions& functions, const double* x, std::size_t n, const ReadOptions& how,
                          std::uint32_t* feature, float* L, RowSummary& row) {
  return functions.dense_entries_f64(x, n, how.p, how.nan_is_zero, feature, L, row);
}

// Drops the zeros, L = -infinity, of the entries from `first` on.
inline void drop_zeros(EntryBuffer& buffer, std::size_t first) {
  std::size_t kept = first;
  for (std::size_t e = first; e < buffer.size(); ++e) {
    const float L = buffer.L[e];
    buffer.feature[kept] = buffer.feature[e];
    buffer.L[kept] = L;
    kept += L != -std::numeric_limits<float>::infinity();
  }
  buffer.resize(kept);
}

// Whether numbers are all 0, 1 or -1, whether a -1 is among them, and how many are not 0.
struct ZeroOne {
  bool holds = true, negative = false;
  std::size_t n_ones = 0;

  template <class Number>
  void update(const Number* x, std::size_t n) {
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t from = 0; from < n && holds; from += kAtOnce) {
      const std::size_t end = from + kAtOnce < n ? from + kAtOnce : n;
      std::uint32_t zeros = 0, ones = 0,
                    minus_ones = 0;  // counted in the width of a number, for the compiler to take many at once
      for (std::size_t i = from; i < end; ++i) {
        zeros += x[i] == 0;
        ones += x[i] == 1;
        minus_ones += x[i] == -1;
      }
      holds = zeros + ones + minus_ones == end - from;
      negative |= minus_ones > 0;
      n_ones += ones + minus_ones;
    }
  }
};

// The rows of a matrix, whatever it is made of.
class RowSource {
 public:
  virtual ~RowSource() = default;

  virtual std::size_t n_rows() const = 0;
  // At most that many entries are in all rows together.
  virtual std::size_t max_entries() const = 0;
  // Reads the whole matrix, so it takes time.
  virtual ZeroOne zero_one() const = 0;
  // Appends the entries of a row to the buffer; of a dense matrix one for each column if `keep_zeros`.
  virtual RowSummary read(const HashingFunctions& functions, std::size_t row, const ReadOptions& how, bool keep_zeros,
                          EntryBuffer& buffer) const = 0;
};

template <class Number>
class DenseRows final : public RowSource {
 public:
  // Rows begin `row_stride` numbers apart.
  DenseRows(const Number* data, std::size_t n_rows, std::size_t n_columns, std::ptrdiff_t row_stride)
      : data_(data), n_rows_(n_rows), n_columns_(n_columns), row_stride_(row_stride) {}

  std::size_t n_rows() const override { return n_rows_; }
  std::size_t max_entries() const override { return n_rows_ * n_columns_; }

  ZeroOne zero_one() const override {
    ZeroOne found;
    for (std::size_t row = 0; row < n_rows_ && found.holds; ++row) {
      found.update(data_ + static_cast<std::ptrdiff_t>(row) * row_stride_, n_columns_);
    }
    return found;
  }

  RowSummary read(const HashingFunctions& functions, std::size_t row, const ReadOptions& how, bool keep_zeros,
                  EntryBuffer& buffer) const override {
    const Number* x = data_ + static_cast<std::ptrdiff_t>(row) * row_stride_;
    const std::size_t first = buffer.size();
    buffer.resize(first + n_columns_);
    RowSummary summary;
    if (!dense_entries(functions, x, n_columns_, how, buffer.feature.data() + first, buffer.L.data() + first,
                       summary)) {
      throw NotFinite();
    }
    if (!keep_zeros && summary.n < n_columns_) drop_zeros(buffer, first);
    return summary;
  }

 private:
  const Number* data_;
  std::size_t n_rows_, n_columns_;
  std::ptrdiff_t row_stride_;
};

// Indices ascend within a row; `check` has been called.
template <class Number, class Index>
class CsrRows final : public RowSource {
 public:
  CsrRows(const Number* data, const Index* indices, const Index* indptr, std::size_t n_rows, std::size_t n_columns,
          std::size_t n_stored)
      : data_(data), indices_(indices), indptr_(indptr), n_rows_(n_rows), n_columns_(n_columns), n_stored_(n_stored) {}

  std::size_t n_rows() const override { return n_rows_; }
  std::size_t max_entries() const override { return n_stored_; }

  ZeroOne zero_one() const override {
    ZeroOne found;
    found.update(data_, static_cast<std::size_t>(indptr_[n_rows_]));
    return found;
  }

  void check() const {
    bool fine = indptr_[0] == 0 && static_cast<std::size_t>(indptr_[n_rows_]) <= n_stored_;
    for (std::size_t row = 0; fine && row < n_rows_; ++row) fine = indptr_[row] <= indptr_[row + 1];
    if (!fine) {
      throw std::invalid_argument(
          "the index pointer of the CSR matrix must start at 0, never fall and end within its data");
    }
  }

  // Never zeros.
  RowSummary read(const HashingFunctions& functions, std::size_t row, const ReadOptions& how, bool,
                  EntryBuffer& buffer) const override {
    const std::size_t start = static_cast<std::size_t>(indptr_[row]);
    const std::size_t n = static_cast<std::size_t>(indptr_[row + 1] - indptr_[row]);
    check_columns(row, indices_ + start, n);
    const std::size_t first = buffer.size();
    buffer.resize(first + n);
    if (!scaled_logarithms(functions, data_ + start, n, how, buffer.L.data() + first)) throw NotFinite();
    RowSummary summary = {n, -std::numeric_limits<float>::infinity(), false};
    for (std::size_t i = 0; i < n; ++i) {
      const bool negative = std::signbit(data_[start + i]);
      const float L = buffer.L[first + i];
      buffer.feature[first + i] = 2 * static_cast<std::uint32_t>(indices_[start + i]) + (negative ? 1u : 0u);
      summary.negative |= negative;
      summary.largest_L = L > summary.largest_L ? L : summary.largest_L;
      summary.n -= L == -std::numeric_limits<float>::infinity();
    }
    if (summary.n < n) drop_zeros(buffer, first);
    return summary;
  }

 private:
  void check_columns(std::size_t row, const Index* columns, std::size_t n) const {
    bool fine = true;
    for (std::size_t e = 1; e < n; ++e) fine &= columns[e - 1] < columns[e];
    if (n == 0 || (fine && columns[0] >= 0 && static_cast<std::size_t>(columns[n - 1]) < n_columns_)) return;
    std::size_t e = 0;
    while (columns[e] >= 0 && static_cast<std::size_t>(columns[e]) < n_columns_ &&
           (e == 0 || columns[e - 1] < columns[e]))
      ++e;
    throw std::invalid_argument("row " + std::to_string(row) + " of the CSR matrix has column index " +
                                std::to_string(columns[e]) + ", which is out of order or not below " +
                                std::to_string(n_columns_));
  }

  const Number* data_;
  const Index* indices_;
  const Index* indptr_;
  std::size_t n_rows_, n_columns_, n_stored_;
};

}  // namespace gcwsnet
