// What the files that know Python share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <type_traits>

#include "base/parallel.hpp"

namespace gcwsnet {

namespace nb = nanobind;

inline void require(bool condition, const char* rule) {
  if (!condition) throw std::invalid_argument(rule);
}

// Work without the GIL. Ctrl-C is looked for while it lasts, and raised as what Python makes of it.
template <class Work>
void without_gil(Work work) {
  bool interrupted = false;
  try {
    nb::gil_scoped_release released;
    StopSign stop_sign([&] {
      if (interrupted) return true;  // asked again while other threads end: Python tells of a signal once
      nb::gil_scoped_acquire acquired;
      interrupted = PyErr_CheckSignals() != 0;
      return interrupted;
    });
    work(stop_sign);
  } catch (const Interrupted&) {
    if (!interrupted) throw;
  }
  if (interrupted) throw nb::python_error();
}

// The numbers of a matrix, row after row.
template <class Number, class Array>
Number* contiguous(const Array& array, std::size_t n_rows, std::size_t n_columns, const char* rule) {
  const bool fits = array.dtype() == nb::dtype<std::remove_const_t<Number>>() && array.shape(0) == n_rows &&
                    array.shape(1) == n_columns;
  const bool in_one_piece = array.size() == 0 ||
                            ((n_columns == 1 || array.stride(1) == 1) &&
                             (n_rows == 1 || array.stride(0) == static_cast<std::int64_t>(n_columns)));
  require(fits && in_one_piece, rule);
  return static_cast<Number*>(array.data());
}

// The numbers of an array of any shape with n of them.
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

// training_bindings.cpp
void bind_training(nb::module_& m);

}  // namespace gcwsnet
