// Python's side of the table of hashed fields.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <mutex>
#include <string>

#include "base/bindings.hpp"
#include "layer/field_table.hpp"

namespace gcwsnet {

namespace {

KeyRows key_rows(const Vector& starts, const Vector& keys) {
  require(starts.shape(0) >= 1, "starts must be int64, one more than there are rows");
  const std::size_t n = starts.shape(0) - 1, n_keys = keys.shape(0);
  const KeyRows rows{contiguous<const std::int64_t>(starts, n + 1, "starts must be int64 and contiguous"),
                     contiguous<const std::uint64_t>(keys, n_keys, "keys must be uint64 and contiguous"), n};
  require(rows.starts[0] == 0 && rows.starts[n] == static_cast<std::int64_t>(n_keys),
          "starts must begin with 0 and end with the number of keys");
  for (std::size_t row = 0; row < n; ++row) require(rows.starts[row] <= rows.starts[row + 1], "starts must not fall");
  return rows;
}

nb::object matrix(std::unique_ptr<double[]> numbers, std::size_t n_rows, std::size_t n_columns) {
  double* data = numbers.get();
  nb::capsule owner(numbers.release(), [](void* pointer) noexcept { delete[] static_cast<double*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, {n_rows, n_columns}, owner));
}

nb::object train_from_python(FieldTable& self, const Vector& starts, const Vector& keys, const Vector& classes,
                             const std::optional<Vector>& weights) {
  const KeyRows rows = key_rows(starts, keys);
  const std::size_t n_outputs = self.settings().n_outputs;
  const auto* of_rows = contiguous<const std::int64_t>(classes, rows.n, "classes must be int64, one for each row");
  const float* factors =
      weights ? contiguous<const float>(*weights, rows.n, "weights must be float32, one for each row") : nullptr;
  const auto n_classes = static_cast<std::int64_t>(n_outputs == 1 ? 2 : n_outputs);
  for (std::size_t row = 0; row < rows.n; ++row) {
    require(of_rows[row] >= 0 && of_rows[row] < n_classes, "classes must be from 0 to below the number of classes");
    require(factors == nullptr || (std::isfinite(factors[row]) && factors[row] >= 0.0f),
            "weights must be finite and at least 0");
  }
  auto out = std::make_unique<double[]>(rows.n * n_outputs);
  without_gil([&](StopSign& stop_sign) {
    const std::unique_lock<std::shared_mutex> lock(self.mutex);
    self.train(rows, of_rows, factors, out.get(), stop_sign);
  });
  return matrix(std::move(out), rows.n, n_outputs);
}

nb::object outputs_from_python(const FieldTable& self, const Vector& starts, const Vector& keys) {
  const KeyRows rows = key_rows(starts, keys);
  const std::size_t n_outputs = self.settings().n_outputs;
  auto out = std::make_unique<double[]>(rows.n * n_outputs);
  without_gil([&](StopSign& stop_sign) {
    const std::shared_lock<std::shared_mutex> lock(self.mutex);
    self.outputs(rows, out.get(), stop_sign);
  });
  return matrix(std::move(out), rows.n, n_outputs);
}

template <class Number>
nb::object view(const std::shared_ptr<Number[]>& numbers, std::size_t n_rows, std::size_t n_columns) {
  if (!numbers) return nb::none();
  auto kept = std::make_unique<std::shared_ptr<Number[]>>(numbers);
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::shared_ptr<Number[]>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Number, nb::ndim<2>>(numbers.get(), {n_rows, n_columns}, owner));
}

}  // namespace

void bind_field_table(nb::module_& m) {
  nb::class_<FieldTable>(m, "FieldTable",
                         "A linear model on rows of hashed values and of their pairs, which learns each row once.")
      .def(
          "__init__",
          [](FieldTable* self, int bits, std::size_t n_outputs, bool pairs, double rate, double pair_rate,
             std::uint32_t min_count, std::int64_t forget_after, std::uint64_t seed) {
            require(bits >= 1 && bits <= 30, "bits must be from 1 to 30");
            require(n_outputs >= 1 && n_outputs <= 65536, "n_outputs must be from 1 to 65536");
            require(std::isfinite(rate) && rate > 0.0 && std::isfinite(pair_rate) && pair_rate > 0.0,
                    "rate and pair_rate must be finite and above 0");
            require(min_count >= 1, "min_count must be at least 1");
            require(forget_after >= 0, "forget_after must be at least 0");
            new (self) FieldTable({bits, n_outputs, pairs, rate, pair_rate, min_count, forget_after, seed});
          },
          "bits"_a, "n_outputs"_a, nb::kw_only(), "pairs"_a = true, "rate"_a, "pair_rate"_a, "min_count"_a = 1,
          "forget_after"_a = 0, "seed"_a = 0, "Make a table of 2**bits slots that are all empty.")
      .def("train", &train_from_python, "starts"_a.noconvert(), "keys"_a.noconvert(), "classes"_a.noconvert(),
           "weights"_a.noconvert().none() = nb::none(),
           nb::sig("def train(self, starts: numpy.typing.NDArray, keys: numpy.typing.NDArray, classes: "
                   "numpy.typing.NDArray, weights: numpy.typing.NDArray | None = None) -> "
                   "numpy.typing.NDArray[numpy.float64]"),
           "Learn from rows one after the other, and return the outputs for each before it was learned.")
      .def("outputs", &outputs_from_python, "starts"_a.noconvert(), "keys"_a.noconvert(),
           nb::sig("def outputs(self, starts: numpy.typing.NDArray, keys: numpy.typing.NDArray) -> "
                   "numpy.typing.NDArray[numpy.float64]"),
           "Return the outputs for rows: log odds.")
      .def(
          "table", [](const FieldTable& self) { return view(self.table, self.n_slots(), 2 * self.settings().n_outputs); },
          nb::sig("def table(self) -> numpy.typing.NDArray[numpy.float32]"),
          "Return a view of the slots: the weights of the outputs, then their sums of squared gradients.")
      .def(
          "bias", [](const FieldTable& self) { return view(self.bias, 1, 2 * self.settings().n_outputs); },
          nb::sig("def bias(self) -> numpy.typing.NDArray[numpy.float32]"),
          "Return a view of the biases and their sums of squared gradients.")
      .def(
          "calibration", [](const FieldTable& self) { return view(self.calibration, 1, 2); },
          nb::sig("def calibration(self) -> numpy.typing.NDArray[numpy.float64]"),
          "Return a view of the factor of the outputs, and of the information about it.")
      .def(
          "counts", [](const FieldTable& self) { return view(self.counts, self.n_slots(), 1); },
          nb::sig("def counts(self) -> numpy.typing.NDArray[numpy.uint32] | None"),
          "Return a view of the occurrences of each slot, up to min_count; None where min_count is 1.")
      .def(
          "last", [](const FieldTable& self) { return view(self.last, self.n_slots(), 1); },
          nb::sig("def last(self) -> numpy.typing.NDArray[numpy.int64] | None"),
          "Return a view of the rows seen at the last occurrence of each slot; None where nothing is forgotten.")
      .def_rw("rows_seen", &FieldTable::rows_seen, "The rows learned so far.");
}

}  // namespace gcwsnet
