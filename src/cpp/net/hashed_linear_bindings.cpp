#include <nanobind/stl/optional.h>

#include "base/bindings.hpp"
#include "net/hashed_linear.hpp"
#include "net/lookups.hpp"

namespace gcwsnet {

namespace {

// function(codes) without the GIL, after the codes have been checked.
template <class Function>
void with_codes(const CodeToRow& rows, const Matrix& codes, Function function) {
  require(codes.shape(1) == rows.n_hashes(), "codes must have one column for each hash");
  require(codes.size() == 0 || (codes.stride(1) == 1 && codes.stride(0) == static_cast<std::int64_t>(codes.shape(1))),
          "codes must be contiguous");
  require(codes.shape(0) < kMaxTableRows, "a batch must have less than 2**31 rows of codes");
  const auto checked = [&](auto code) {
    using Code = decltype(code);
    const CodeMatrix<Code> matrix{static_cast<const Code*>(codes.data()), codes.shape(0), codes.shape(1)};
    nb::gil_scoped_release released;
    check_codes(matrix, rows.bits());
    function(matrix);
  };
  if (codes.dtype() == nb::dtype<std::uint8_t>()) return checked(std::uint8_t{});
  if (codes.dtype() == nb::dtype<std::uint16_t>()) return checked(std::uint16_t{});
  if (codes.dtype() == nb::dtype<std::uint32_t>()) return checked(std::uint32_t{});
  if (codes.dtype() == nb::dtype<std::int32_t>()) return checked(std::int32_t{});
  if (codes.dtype() == nb::dtype<std::int64_t>()) return checked(std::int64_t{});
  throw std::invalid_argument("codes must be uint8, uint16, uint32, int32 or int64");
}

constexpr const char* kGradientRule = "the gradient must be samples x outputs, float32 and contiguous";
constexpr const char* kMeanRule = "means must be there unless beta1 is 0";

}  // namespace

void bind_hashed_linear(nb::module_& m) {
  nb::class_<CodeToRow>(m, "CodeToRow",
                        "The row of a table that each code looks up: its position, or its position's bin.")
      .def(
          "__init__",
          [](CodeToRow* self, std::size_t n_hashes, int bits, std::size_t n_rows, bool sketched, std::uint64_t seed) {
            require(bits >= 1 && bits <= 32, "bits must be from 1 to 32");
            require(n_hashes >= 1 && n_hashes <= (std::size_t{1} << 20), "n_hashes must be from 1 to 2**20");
            require(n_rows >= 1 && n_rows <= kMaxTableRows, "a table must have from 1 to 2**31 rows");
            require(sketched || n_rows == n_hashes << bits,
                    "without a sketch a table must have 2**bits rows for each hash");
            new (self) CodeToRow(n_hashes, bits, n_rows, sketched, seed);
          },
          "n_hashes"_a, "bits"_a, "n_rows"_a, "sketched"_a, "seed"_a)
      .def(
          "sum_rows",
          [](const CodeToRow& self, const Matrix& codes, const Matrix& table, const Vector& bias, const OutMatrix& out,
             int n_threads) {
            const std::size_t width = table.shape(1);
            const float* weights = contiguous<const float>(table, self.n_rows(), width,
                                                           "the table must be rows x outputs, float32 and contiguous");
            const float* start =
                contiguous<const float>(bias, width, "the bias must be float32, one number for each output");
            float* sums =
                contiguous<float>(out, codes.shape(0), width, "out must be samples x outputs, float32 and contiguous");
            with_codes(self, codes,
                       [&](const auto& matrix) { sum_rows(self, matrix, weights, start, width, sums, n_threads); });
          },
          "codes"_a.noconvert(), "table"_a.noconvert(), "bias"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a,
          "Write for each sample the bias plus the rows that its codes look up.");

  nb::class_<LookupsByRow>(m, "LookupsByRow", "The lookups of a batch, sorted by the row of the table.")
      .def(
          "__init__",
          [](LookupsByRow* self, const CodeToRow& rows, const Matrix& codes, int n_threads) {
            with_codes(rows, codes, [&](const auto& matrix) { new (self) LookupsByRow(rows, matrix, n_threads); });
          },
          "rows"_a, "codes"_a.noconvert(), "n_threads"_a)
      .def_prop_ro("n_rows_used", &LookupsByRow::n_rows_used, "The number of rows of the table that occur.")
      .def(
          "row_sums",
          [](const LookupsByRow& self, const Matrix& gradient, const OutMatrix& rows, const OutMatrix& sums,
             int n_threads) {
            const std::size_t width = gradient.shape(1), n = self.n_rows_used();
            const float* from = contiguous<const float>(gradient, self.n_samples(), width, kGradientRule);
            auto* rows_to = contiguous<std::int64_t>(rows, 1, n, "rows must be 1 x row_of rows, int64 and contiguous");
            float* sums_to =
                contiguous<float>(sums, n, width, "sums must be row_of rows x outputs, float32 and contiguous");
            nb::gil_scoped_release released;
            self.row_sums(from, width, rows_to, sums_to, n_threads);
          },
          "gradient"_a.noconvert(), "rows"_a.noconvert(), "sums"_a.noconvert(), "n_threads"_a,
          "Write the rows that occur, ascending, and the sum of the gradient over the samples that looked up each.")
      .def(
          "adam",
          [](const LookupsByRow& self, const Matrix& gradient, const OutMatrix& table,
             const std::optional<OutMatrix>& mean, const OutMatrix& square, float rate, float new_mean,
             float new_square, float epsilon, float decay, int n_threads) {
            const std::size_t width = gradient.shape(1), n = self.n_table_rows();
            const char* rule = "the table, its means and its squares must be rows x outputs, float32 and contiguous";
            const float* from = contiguous<const float>(gradient, self.n_samples(), width, kGradientRule);
            float* weights = contiguous<float>(table, n, width, rule);
            float* means = mean ? contiguous<float>(*mean, n, width, rule) : nullptr;
            float* squares = contiguous<float>(square, n, width, rule);
            require(mean || new_mean == 1.0f, kMeanRule);
            nb::gil_scoped_release released;
            self.adam({rate, new_mean, new_square, epsilon, decay}, from, width, weights, means, squares, n_threads);
          },
          "gradient"_a.noconvert(), "table"_a.noconvert(), "mean"_a.noconvert().none(), "square"_a.noconvert(),
          "rate"_a, "new_mean"_a, "new_square"_a, "epsilon"_a, "decay"_a, "n_threads"_a,
          "Do one step of Adam on the rows that occur, each read and written once.");

  m.def(
      "adam",
      [](const Array& gradient, const OutArray& weight, const std::optional<OutArray>& mean, const OutArray& square,
         float rate, float new_mean, float new_square, float epsilon, float decay, int n_threads) {
        const std::size_t n = weight.size();
        const char* rule =
            "the weights, their gradient, means and squares must be float32, contiguous and equally many";
        const float* from = contiguous<const float>(gradient, n, rule);
        const AdamRow row{contiguous<float>(weight, n, rule), mean ? contiguous<float>(*mean, n, rule) : nullptr,
                          contiguous<float>(square, n, rule)};
        require(mean || new_mean == 1.0f, kMeanRule);
        nb::gil_scoped_release released;
        adam({rate, new_mean, new_square, epsilon, decay}, from, n, row, n_threads);
      },
      "gradient"_a.noconvert(), "weight"_a.noconvert(), "mean"_a.noconvert().none(), "square"_a.noconvert(), "rate"_a,
      "new_mean"_a, "new_square"_a, "epsilon"_a, "decay"_a, "n_threads"_a, "Do one step of Adam on all weights.");
}

}  // namespace gcwsnet
