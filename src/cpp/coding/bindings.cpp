#include "base/bindings.hpp"
#include "coding/column_sums.hpp"

namespace gcwsnet {

namespace {

template <class Number>
Columns<Number> columns_of(const Matrix& x) {
  return {static_cast<const Number*>(x.data()), x.shape(0), x.shape(1), static_cast<std::ptrdiff_t>(x.stride(0)),
          static_cast<std::ptrdiff_t>(x.stride(1))};
}

constexpr const char* kOneOfEach = "there must be one number per column, contiguous and of the right type";

}  // namespace

void bind_coding(nb::module_& m) {
  m.def(
      "column_sums",
      [](const Matrix& x, const Vector& exponent, const OutArray& sum, const OutArray& count) {
        const std::size_t n = x.shape(1);
        const auto* shifts = contiguous<const std::int32_t>(exponent, n, kOneOfEach);
        auto* sums = contiguous<double>(sum, n, kOneOfEach);
        auto* counts = contiguous<std::int64_t>(count, n, kOneOfEach);
        with_number_type(x.dtype(), [&](auto number) {
          nb::gil_scoped_release released;
          column_sums(columns_of<decltype(number)>(x), shifts, sums, counts);
        });
      },
      "x"_a, "exponent"_a, "sum"_a.noconvert(), "count"_a.noconvert(),
      "Write the sum of x 2**-exponent over the rows of each column, in their order, and how many are not NaN.");
  m.def(
      "column_squares",
      [](const Matrix& x, const Vector& exponent, const Vector& center, const OutArray& square) {
        const std::size_t n = x.shape(1);
        const auto* shifts = contiguous<const std::int32_t>(exponent, n, kOneOfEach);
        const auto* centers = contiguous<const double>(center, n, kOneOfEach);
        auto* squares = contiguous<double>(square, n, kOneOfEach);
        with_number_type(x.dtype(), [&](auto number) {
          nb::gil_scoped_release released;
          column_squares(columns_of<decltype(number)>(x), shifts, centers, squares);
        });
      },
      "x"_a, "exponent"_a, "center"_a, "square"_a.noconvert(),
      "Write the sum of (x 2**-exponent - center)**2 over the rows of each column, without NaN.");
}

}  // namespace gcwsnet
