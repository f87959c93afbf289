// What the bindings of nets share: arrays of codes and of numbers whose sizes are checked before anything is touched.
#pragma once

#include <nanobind/stl/string.h>

#include <cmath>
#include <memory>
#include <string>

#include "base/bindings.hpp"
#include "net/net.hpp"

namespace gcwsnet {

inline constexpr std::size_t kMaxUnits = (std::size_t{1} << 31) - 1;

inline std::string text(std::size_t number) { return std::to_string(number); }

[[noreturn]] inline void refuse(const std::string& rule) { throw std::invalid_argument(rule); }

inline void check_settings(const NetSettings& settings) {
  require(settings.n_hashes >= 1 && settings.n_hashes <= (std::size_t{1} << 20), "n_hashes must be from 1 to 2**20");
  require(settings.bits >= 1 && settings.bits <= 32, "bits must be from 1 to 32");
  for (const std::size_t units : settings.hidden) {
    if (units < 1 || units > kMaxUnits) refuse("hidden must be from 1 to 2**31 - 1 units, got " + text(units));
  }
  if (settings.n_outputs < 1 || settings.n_outputs > kMaxUnits) {
    refuse("n_outputs must be from 1 to 2**31 - 1, got " + text(settings.n_outputs));
  }
  const std::uint64_t positions = static_cast<std::uint64_t>(settings.n_hashes) << settings.bits;
  require(settings.reduction >= 1, "reduction must be at least 1");
  if ((positions - 1) / settings.reduction + 1 > kMaxTableRows) {
    refuse("a table must have at most 2**31 rows, got " + text(settings.n_hashes) + " hashes of " +
           std::to_string(settings.bits) + " bits with reduction=" + text(settings.reduction) +
           "; use a larger reduction or fewer bits");
  }
  require(std::isfinite(settings.scale) && settings.scale >= 0.0, "scale must be a finite number of at least 0");
}

// Rows of codes with n_hashes columns.
inline CodeRows code_rows(std::size_t n_hashes, const Matrix& codes) {
  const nb::dlpack::dtype type = codes.dtype();
  if (type != nb::dtype<std::uint8_t>() && type != nb::dtype<std::uint16_t>() && type != nb::dtype<std::uint32_t>()) {
    throw nb::type_error("codes must be uint8, uint16 or uint32");
  }
  if (codes.shape(1) != n_hashes) {
    refuse("codes must have one column for each of the " + text(n_hashes) + " hashes, got " + text(codes.shape(1)) +
           " columns");
  }
  require(codes.size() == 0 || ((n_hashes == 1 || codes.stride(1) == 1) &&
                                (codes.shape(0) == 1 || codes.stride(0) == static_cast<std::int64_t>(n_hashes))),
          "codes must be contiguous");
  return {codes.data(), type.bits / std::size_t{8}, codes.shape(0), n_hashes, n_hashes};
}

// A row of codes must have no more than `bits` bits each.
inline void check_codes(const CodeRows& codes, int bits, std::size_t row) {
  const std::size_t hash = codes.first_out_of_range(row, bits);
  if (hash == codes.n_hashes) return;
  refuse("codes must be from 0 to " + text((std::uint64_t{1} << bits) - 1) + " with bits=" + std::to_string(bits) +
         ", codes[" + text(row) + ", " + text(hash) + "] is " + text(codes.code(row, hash)) +
         "; give the bits of the hasher, with those that t_bits appended");
}

// As many numbers as the shape has, in that shape.
template <class Number, class AnyArray>
Number* shaped(const AnyArray& array, const std::vector<std::size_t>& shape, const char* rule) {
  std::size_t n = 1;
  for (const std::size_t side : shape) n *= side;
  bool fits = array.ndim() == shape.size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) fits = array.shape(axis) == shape[axis];
  require(fits, rule);
  return contiguous<Number>(array, n, rule);
}

template <class Number>
nb::object vector(std::unique_ptr<Number[]> numbers, std::size_t n) {
  Number* data = numbers.get();
  nb::capsule owner(numbers.release(), [](void* pointer) noexcept { delete[] static_cast<Number*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {n}, owner));
}

template <class Number>
nb::object matrix(std::unique_ptr<Number[]> numbers, std::size_t n_rows, std::size_t n_columns) {
  Number* data = numbers.get();
  nb::capsule owner(numbers.release(), [](void* pointer) noexcept { delete[] static_cast<Number*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, Number, nb::ndim<2>>(data, {n_rows, n_columns}, owner));
}

}  // namespace gcwsnet
