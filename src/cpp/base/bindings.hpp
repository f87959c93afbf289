// What the bindings of all modules share: arrays of NumPy, whose sizes and types are checked before anything is
// touched, and work without the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace gcwsnet {

namespace nb = nanobind;
using namespace nb::literals;

using Matrix = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::device::cpu>;
using Array = nb::ndarray<nb::ro, nb::numpy, nb::device::cpu>;
using OutArray = nb::ndarray<nb::numpy, nb::device::cpu>;
using OutMatrix = nb::ndarray<nb::numpy, nb::ndim<2>, nb::device::cpu>;

inline void require(bool condition, const char* rule) {
  if (!condition) throw std::invalid_argument(rule);
}

// Work without the GIL. Ctrl-C is looked for while it lasts, and raised as what Python makes of it.
template <class Work>
void without_gil(Work work) {
  bool interrupted = false;
  try {
    nb::gil_scoped_release released;
    StopToken stop_token([&] {
      if (interrupted) return true;  // asked again while other threads end: Python reports a signal once
      nb::gil_scoped_acquire acquired;
      interrupted = PyErr_CheckSignals() != 0;
      return interrupted;
    });
    work(stop_token);
  } catch (const Interrupted&) {
    if (!interrupted) throw;
  }
  if (interrupted) throw nb::python_error();
}

template <class Function>
auto with_number_type(nb::dlpack::dtype type, Function function) {
  if (type == nb::dtype<float>()) return function(float{});
  if (type == nb::dtype<double>()) return function(double{});
  throw std::invalid_argument("the data must be float32 or float64");
}

template <class Function>
auto with_index_type(nb::dlpack::dtype type, Function function) {
  if (type == nb::dtype<std::int32_t>()) return function(std::int32_t{});
  if (type == nb::dtype<std::int64_t>()) return function(std::int64_t{});
  throw std::invalid_argument("the indices must be int32 or int64");
}

// The numbers of an array of a given shape, which must be contiguous.
template <class Number, class AnyMatrix>
Number* contiguous(const AnyMatrix& array, std::size_t n_rows, std::size_t n_columns, const char* rule) {
  const bool fits = array.dtype() == nb::dtype<std::remove_const_t<Number>>() && array.shape(0) == n_rows &&
                    array.shape(1) == n_columns;
  const bool in_one_piece =
      array.size() == 0 || ((n_columns == 1 || array.stride(1) == 1) &&
                            (n_rows == 1 || array.stride(0) == static_cast<std::int64_t>(n_columns)));
  require(fits && in_one_piece, rule);
  return static_cast<Number*>(array.data());
}

// The n numbers of an array of any shape, which must be contiguous.
template <class Number, class AnyArray>
Number* contiguous(const AnyArray& array, std::size_t n, const char* rule) {
  bool fits = array.dtype() == nb::dtype<std::remove_const_t<Number>>() && array.size() == n;
  std::int64_t stride = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    fits = fits && (array.shape(axis) <= 1 || n == 0 || array.stride(axis) == stride);
    stride *= static_cast<std::int64_t>(array.shape(axis));
  }
  require(fits, rule);
  return static_cast<Number*>(array.data());
}

// An array of NumPy that owns the numbers.
template <class Number>
nb::ndarray<nb::numpy, Number, nb::ndim<1>> as_array(std::vector<Number>&& numbers) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* data = kept->data();
  const std::size_t n = kept->size();
  nb::capsule owner(kept.release(), [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
  return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {n}, owner);
}

}  // namespace gcwsnet
