// Sizes and types are checked here, before anything is touched. Only this file, bindings.hpp and training_bindings.cpp know
// Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "bindings.hpp"
#include "kernels/pgmm.hpp"
#include "layer/adam.hpp"
#include "layer/hashed_linear.hpp"
#include "layer/picks_by_row.hpp"
#include "reading/content_keys.hpp"
#include "reading/libsvm.hpp"
#include "samplers/hasher.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace gcwsnet;

namespace {

using Matrix = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::device::cpu>;
using Array = nb::ndarray<nb::ro, nb::numpy, nb::device::cpu>;
using OutArray = nb::ndarray<nb::numpy, nb::device::cpu>;
using OutMatrix = nb::ndarray<nb::numpy, nb::ndim<2>, nb::device::cpu>;

// The numbers that are given, or 0, 1, 2, ...
std::vector<std::uint32_t> numbers_of_hashes(std::size_t n_hashes,
                                             const std::optional<std::vector<std::uint32_t>>& given,
                                             Hasher::Method method) {
  if (given.has_value()) {
    require(method == Hasher::Method::kGcws, "only the method GCWS takes hash numbers");
    require(given->size() == n_hashes, "there must be n_hashes hash numbers");
    return *given;
  }
  std::vector<std::uint32_t> numbers(n_hashes);
  std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  return numbers;
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

template <class Function>
void with_code_type(nb::dlpack::dtype type, Function function) {
  if (type == nb::dtype<std::uint8_t>()) return function(std::uint8_t{});
  if (type == nb::dtype<std::uint16_t>()) return function(std::uint16_t{});
  if (type == nb::dtype<std::uint32_t>()) return function(std::uint32_t{});
  if (type == nb::dtype<std::uint64_t>()) return function(std::uint64_t{});
  throw std::invalid_argument("codes must be uint8, uint16, uint32 or uint64");
}

template <class Function>
void with_dense_rows(const Hasher& hasher, const Matrix& X, Function function) {
  require(X.shape(1) == hasher.n_columns(), "X must have as many columns as the hasher");
  require(X.shape(1) == 1 || X.stride(1) == 1, "the numbers of a row of X must be adjacent");
  with_number_type(X.dtype(), [&](auto number) {
    using Number = decltype(number);
    function(DenseRows<Number>{static_cast<const Number*>(X.data()), X.shape(0), X.shape(1),
                               static_cast<std::ptrdiff_t>(X.stride(0))});
  });
}

template <class Function>
void with_csr_rows(const Hasher& hasher, const Vector& data, const Vector& indices, const Vector& indptr,
                   Function function) {
  require(data.shape(0) == indices.shape(0), "a CSR matrix must have as many indices as data");
  require(indptr.shape(0) >= 1, "the index pointer of a CSR matrix must not be empty");
  require(indices.dtype() == indptr.dtype(), "indices and index pointer must have one type");
  for (const Vector* vector : {&data, &indices, &indptr}) {
    require(vector->shape(0) <= 1 || vector->stride(0) == 1, "the arrays of a CSR matrix must be contiguous");
  }
  with_number_type(data.dtype(), [&](auto number) {
    with_index_type(indices.dtype(), [&](auto index) {
      using Number = decltype(number);
      using Index = decltype(index);
      const CsrRows<Number, Index> rows{static_cast<const Number*>(data.data()), static_cast<const Index*>(indices.data()),
                                        static_cast<const Index*>(indptr.data()), indptr.shape(0) - 1,
                                        hasher.n_columns(), data.shape(0)};
      rows.check();
      function(rows);
    });
  });
}

template <class Rows>
void write_samples(Hasher& hasher, const Rows& rows, const Reading& how, const OutMatrix& i_star, const OutMatrix& t_star,
                   int n_threads) {
  for (const OutMatrix* out : {&i_star, &t_star}) {
    require(out->dtype() == nb::dtype<std::int64_t>(), "i_star and t_star must be int64");
    require(out->shape(0) == rows.n_rows && out->shape(1) == hasher.n_hashes(), "i_star and t_star must be rows x hashes");
    require(out->stride(1) == 1 && out->stride(0) == static_cast<std::int64_t>(hasher.n_hashes()),
            "i_star and t_star must be contiguous");
  }
  without_gil([&](StopSign& stop_sign) {
    hasher.samples(rows, how, static_cast<std::int64_t*>(i_star.data()), static_cast<std::int64_t*>(t_star.data()),
                   n_threads, stop_sign);
  });
}

template <class Rows>
void write_codes(Hasher& hasher, const Rows& rows, const Reading& how, const Encoding& encoding, const OutMatrix& out,
                 int n_threads) {
  require(out.shape(0) == rows.n_rows && out.shape(1) == hasher.n_hashes(), "codes must be rows x hashes");
  require(out.stride(1) == 1 && out.stride(0) == static_cast<std::int64_t>(hasher.n_hashes()), "codes must be contiguous");
  require(static_cast<int>(out.itemsize()) * 8 >= encoding.bits + encoding.t_bits, "the codes' type must hold their bits");
  with_code_type(out.dtype(), [&](auto code) {
    without_gil([&](StopSign& stop_sign) {
      hasher.codes(rows, how, encoding, static_cast<decltype(code)*>(out.data()), n_threads, stop_sign);
    });
  });
}

template <class Number>
const Number* numbers(const Vector& vector, std::size_t n, const char* rule) {
  require(vector.dtype() == nb::dtype<Number>() && vector.shape(0) == n && (n <= 1 || vector.stride(0) == 1), rule);
  return static_cast<const Number*>(vector.data());
}

PoweredRows powered_rows(const Matrix& values, const Vector& log2_scale) {
  require(values.dtype() == nb::dtype<double>(), "rows must be float64");
  require(values.shape(1) % kPowered == 0, "rows must be filled up to a multiple of 8 columns");
  require(values.size() == 0 || (values.stride(1) == 1 && values.stride(0) == static_cast<std::int64_t>(values.shape(1))),
          "rows must be contiguous");
  return {static_cast<const double*>(values.data()),
          numbers<double>(log2_scale, values.shape(0), "there must be one float64 scale per row, contiguous"),
          values.shape(0), values.shape(1)};
}

double* kernel_block(const OutMatrix& out, std::size_t n_x, std::size_t n_y) {
  require(out.dtype() == nb::dtype<double>() && out.shape(0) == n_x && out.shape(1) == n_y && (n_y <= 1 || out.stride(1) == 1),
          "out must be float64, rows of X x rows of Y");
  return static_cast<double*>(out.data());
}

// What follows serves the hashed first layer.

template <class Function>
auto with_codes(const RowOfCode& rows, const Matrix& codes, Function function) {
  require(codes.shape(1) == rows.n_hashes(), "codes must have one column for each hash");
  require(codes.size() == 0 || (codes.stride(1) == 1 && codes.stride(0) == static_cast<std::int64_t>(codes.shape(1))),
          "codes must be contiguous");
  require(codes.shape(0) < kMostPickedRows, "a batch must have less than 2**31 rows of codes");
  const auto checked = [&](auto code) {
    using Code = decltype(code);
    const CodeMatrix<Code> matrix{static_cast<const Code*>(codes.data()), codes.shape(0), codes.shape(1)};
    check_codes(matrix, rows.bits());
    return function(matrix);
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

void bind_hashed_linear(nb::module_& m) {
  nb::class_<RowOfCode>(m, "RowOfCode", "Which row of a table each code picks: its position, or its position's bin.")
      .def(
          "__init__",
          [](RowOfCode* self, std::size_t n_hashes, int bits, std::size_t n_rows, bool sketched, std::uint64_t seed) {
            require(bits >= 1 && bits <= 32, "bits must be from 1 to 32");
            require(n_hashes >= 1 && n_hashes <= (std::size_t{1} << 20), "n_hashes must be from 1 to 2**20");
            require(n_rows >= 1 && n_rows <= kMostPickedRows, "a table must have from 1 to 2**31 rows");
            require(sketched || n_rows == n_hashes << bits,
                    "without a sketch a table must have 2**bits rows for each hash");
            new (self) RowOfCode(n_hashes, bits, n_rows, sketched, seed);
          },
          "n_hashes"_a, "bits"_a, "n_rows"_a, "sketched"_a, "seed"_a)
      .def(
          "sum_of_picks",
          [](const RowOfCode& self, const Matrix& codes, const Matrix& table, const Vector& bias, const OutMatrix& out,
             int n_threads) {
            const std::size_t width = table.shape(1);
            const float* weights = contiguous<const float>(table, self.n_rows(), width,
                                                           "the table must be rows x outputs, float32 and contiguous");
            const float* start = numbers<float>(bias, width, "the bias must be float32, one number for each output");
            float* sums = contiguous<float>(out, codes.shape(0), width,
                                            "out must be samples x outputs, float32 and contiguous");
            with_codes(self, codes, [&](const auto& matrix) {
              nb::gil_scoped_release released;
              sum_of_picks(self, matrix, weights, start, width, sums, n_threads);
            });
          },
          "codes"_a.noconvert(), "table"_a.noconvert(), "bias"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a,
          "Writes for each sample the bias plus the rows that its codes pick.");

  nb::class_<PicksByRow>(m, "PicksByRow", "The picks of a batch, sorted by the row of the table.")
      .def(
          "__init__",
          [](PicksByRow* self, const RowOfCode& rows, const Matrix& codes, int n_threads) {
            with_codes(rows, codes, [&](const auto& matrix) {
              nb::gil_scoped_release released;
              new (self) PicksByRow(rows, matrix, n_threads);
            });
          },
          "rows"_a, "codes"_a.noconvert(), "n_threads"_a)
      .def_prop_ro("n_picked_rows", &PicksByRow::n_picked_rows, "How many rows of the table occur.")
      .def(
          "row_sums",
          [](const PicksByRow& self, const Matrix& gradient, const OutMatrix& rows, const OutMatrix& sums,
             int n_threads) {
            const std::size_t width = gradient.shape(1), n = self.n_picked_rows();
            const float* from = contiguous<const float>(gradient, self.n_samples(), width, kGradientRule);
            auto* rows_to = contiguous<std::int64_t>(rows, 1, n, "rows must be 1 x picked rows, int64 and contiguous");
            float* sums_to = contiguous<float>(sums, n, width,
                                               "sums must be picked rows x outputs, float32 and contiguous");
            nb::gil_scoped_release released;
            self.row_sums(from, width, rows_to, sums_to, n_threads);
          },
          "gradient"_a.noconvert(), "rows"_a.noconvert(), "sums"_a.noconvert(), "n_threads"_a,
          "Writes the rows that occur, ascending, and the sum of the gradient over the samples that picked each.")
      .def(
          "adam",
          [](const PicksByRow& self, const Matrix& gradient, const OutMatrix& table,
             const std::optional<OutMatrix>& mean, const OutMatrix& square, float rate, float new_mean, float new_square,
             float epsilon, float decay, int n_threads) {
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
          "gradient"_a.noconvert(), "table"_a.noconvert(), "mean"_a.noconvert().none(), "square"_a.noconvert(), "rate"_a,
          "new_mean"_a, "new_square"_a, "epsilon"_a, "decay"_a, "n_threads"_a,
          "One step of Adam on the rows that occur, each read and written once.");

  m.def(
      "adam",
      [](const Array& gradient, const OutArray& weight, const std::optional<OutArray>& mean, const OutArray& square,
         float rate, float new_mean, float new_square, float epsilon, float decay, int n_threads) {
        const std::size_t n = weight.size();
        const char* rule = "the weights, their gradient, means and squares must be float32, contiguous and equally many";
        const float* from = contiguous<const float>(gradient, n, rule);
        const AdamRow row{contiguous<float>(weight, n, rule), mean ? contiguous<float>(*mean, n, rule) : nullptr,
                          contiguous<float>(square, n, rule)};
        require(mean || new_mean == 1.0f, kMeanRule);
        nb::gil_scoped_release released;
        adam({rate, new_mean, new_square, epsilon, decay}, from, n, row, n_threads);
      },
      "gradient"_a.noconvert(), "weight"_a.noconvert(), "mean"_a.noconvert().none(), "square"_a.noconvert(), "rate"_a,
      "new_mean"_a, "new_square"_a, "epsilon"_a, "decay"_a, "n_threads"_a, "One step of Adam on all weights.");
}

// What follows serves the readers.

template <class Number>
nb::ndarray<nb::numpy, Number, nb::ndim<1>> owned(std::vector<Number>&& numbers) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* data = kept->data();
  const std::size_t n = kept->size();
  nb::capsule owner(kept.release(), [](void* pointer) noexcept { delete static_cast<std::vector<Number>*>(pointer); });
  return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {n}, owner);
}

template <class Number>
nb::tuple libsvm_rows(const char* text, std::size_t n_bytes, const LibsvmRules& rules) {
  LibsvmRows<Number> rows;
  {
    nb::gil_scoped_release released;
    rows = parse_libsvm<Number>(text, n_bytes, rules);
  }
  return nb::make_tuple(owned(std::move(rows.labels)), owned(std::move(rows.values)), owned(std::move(rows.columns)),
                        owned(std::move(rows.ends)), owned(std::move(rows.lines)), rows.n_bytes, rows.n_lines, rows.fault,
                        rows.fault_begin, rows.fault_end);
}

void bind_reading(nb::module_& m) {
  nb::enum_<LibsvmFault>(m, "LibsvmFault", "Which rule a line of the LIBSVM format breaks.")
      .value("NONE", LibsvmFault::kNone)
      .value("NO_LABEL", LibsvmFault::kNoLabel)
      .value("MANY_LABELS", LibsvmFault::kManyLabels)
      .value("LABEL", LibsvmFault::kLabel)
      .value("LABEL_NOT_FINITE", LibsvmFault::kLabelNotFinite)
      .value("PAIR", LibsvmFault::kPair)
      .value("INDEX", LibsvmFault::kIndex)
      .value("INDEX_TOO_SMALL", LibsvmFault::kIndexTooSmall)
      .value("INDEX_TOO_LARGE", LibsvmFault::kIndexTooLarge)
      .value("DUPLICATE", LibsvmFault::kDuplicate)
      .value("VALUE", LibsvmFault::kValue)
      .value("MISSING", LibsvmFault::kMissing)
      .value("INFINITY", LibsvmFault::kInfinity)
      .value("OVERFLOW", LibsvmFault::kOverflow);
  nb::enum_<Missing>(m, "Missing", "What a missing value becomes.")
      .value("ERROR", Missing::kError)
      .value("ZERO", Missing::kZero)
      .value("NAN", Missing::kNan);
  m.def(
      "parse_libsvm",
      [](const nb::bytes& text, std::size_t begin, std::int64_t index_base, std::int64_t n_columns, Missing missing,
         bool float32) {
        require(begin <= text.size(), "the text must not end before its beginning");
        require(text.size() < std::size_t{1} << 31, "a text must have less than 2**31 bytes");
        require(index_base == 0 || index_base == 1, "index_base must be 0 or 1");
        require(n_columns >= 0 && n_columns <= std::int64_t{1} << 31, "n_columns must be from 0 to 2**31");
        const LibsvmRules rules{index_base, n_columns, missing};
        const char* from = text.c_str() + begin;
        const std::size_t n_bytes = text.size() - begin;
        return float32 ? libsvm_rows<float>(from, n_bytes, rules) : libsvm_rows<double>(from, n_bytes, rules);
      },
      "text"_a, "begin"_a, "index_base"_a, "n_columns"_a, "missing"_a, "float32"_a,
      "Labels, values, columns, index pointer and lines of the rows of a text; the bytes and lines that were read; and "
      "the fault that ended it, with its place.");
  m.def(
      "text_keys",
      [](const nb::bytes& texts, const Vector& ends, std::uint64_t state, const OutArray& out) {
        require(ends.shape(0) >= 1, "ends must not be empty");
        const std::size_t n = ends.shape(0) - 1;
        const auto* end = numbers<std::int64_t>(ends, n + 1, "ends must be contiguous int64");
        auto* keys = contiguous<std::uint64_t>(out, n, "out must be uint64, one for each text");
        require(end[0] >= 0 && std::is_sorted(end, end + n + 1) && static_cast<std::size_t>(end[n]) <= texts.size(),
                "ends must rise from 0 to at most the number of bytes");
        const char* bytes = texts.c_str();
        nb::gil_scoped_release released;
        for (std::size_t i = 0; i < n; ++i) {
          keys[i] = mix64(fnv1a(state, bytes + end[i], static_cast<std::size_t>(end[i + 1] - end[i])));
        }
      },
      "texts"_a, "ends"_a.noconvert(), "state"_a, "out"_a.noconvert(),
      "Writes a key for each of the texts that stand one behind the other: FNV-1a from a state, mixed.");
  m.def(
      "dense_row_keys",
      [](const Matrix& X, std::uint64_t state, const OutArray& out) {
        auto* keys = contiguous<std::uint64_t>(out, X.shape(0), "out must be uint64, one for each row");
        with_number_type(X.dtype(), [&](auto number) {
          const auto* rows = contiguous<const decltype(number)>(X, X.shape(0), X.shape(1), "X must be contiguous");
          nb::gil_scoped_release released;
          dense_row_keys(rows, X.shape(0), X.shape(1), state, keys);
        });
      },
      "X"_a.noconvert(), "state"_a, "out"_a.noconvert(), "Writes a key of the numbers of each row.");
  m.def(
      "csr_row_keys",
      [](const Vector& data, const Vector& indices, const Vector& indptr, std::uint64_t state, const OutArray& out) {
        require(indptr.shape(0) >= 1, "the index pointer of a CSR matrix must not be empty");
        require(indices.dtype() == indptr.dtype(), "indices and index pointer must have one type");
        const std::size_t n = data.shape(0), n_rows = indptr.shape(0) - 1;
        auto* keys = contiguous<std::uint64_t>(out, n_rows, "out must be uint64, one for each row");
        with_number_type(data.dtype(), [&](auto number) {
          with_index_type(indices.dtype(), [&](auto index) {
            const char* rule = "the arrays of a CSR matrix must be contiguous, with as many indices as data";
            const auto* values = numbers<decltype(number)>(data, n, rule);
            const auto* columns = numbers<decltype(index)>(indices, n, rule);
            const auto* ends = numbers<decltype(index)>(indptr, n_rows + 1, rule);
            require(ends[0] >= 0 && std::is_sorted(ends, ends + n_rows + 1) && static_cast<std::size_t>(ends[n_rows]) <= n,
                    "the index pointer must rise from 0 to at most the number of entries");
            nb::gil_scoped_release released;
            csr_row_keys(values, columns, ends, n_rows, state, keys);
          });
        });
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "state"_a, "out"_a.noconvert(),
      "Writes a key of the numbers of each row, equal to that of the row as a dense one.");
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The native core: GCWS hashing and sums of minima. Private; use the functions of gcwsnet.";

  nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
    try {
      std::rethrow_exception(failure);
    } catch (const NotFinite& error) {
      PyErr_SetString(PyExc_FloatingPointError, error.what());
    }
  });

  m.def(
      "instruction_sets",
      [] {
        std::vector<std::string> names;
        for (const InstructionSet* set : available_instruction_sets()) names.emplace_back(set->name);
        return names;
      },
      "Names of the instruction sets this processor can run, best first.");
  m.def(
      "instruction_set", [] { return std::string(chosen_instruction_set().name); },
      "Name of the instruction set in use: the best one, or that of the environment variable GCWSNET_ISA.");

  nb::class_<Encoding>(m, "Encoding", "How a pair (i*, t*) becomes a code.")
      .def(
          "__init__",
          [](Encoding* self, bool mixed, bool all_of_t, int bits, int t_bits, std::uint32_t n_columns) {
            require(bits >= 1 && bits <= 32, "bits must be from 1 to 32");
            require(t_bits >= 0 && t_bits <= 8, "t_bits must be from 0 to 8");
            new (self) Encoding{mixed, all_of_t, bits, t_bits, n_columns};
          },
          "mixed"_a, "all_of_t"_a, "bits"_a, "t_bits"_a, "n_columns"_a);

  nb::enum_<Hasher::Scan>(m, "Scan", "How rows are scanned: what looks quickest, or always one way.")
      .value("AUTO", Hasher::Scan::kAuto)
      .value("FULL", Hasher::Scan::kFull)
      .value("SORTED", Hasher::Scan::kSorted)
      .value("HEAVY", Hasher::Scan::kHeavy)
      .value("RANKS", Hasher::Scan::kRanks);

  nb::enum_<Hasher::Method>(m, "Method", "The sampler.")
      .value("GCWS", Hasher::Method::kGcws)
      .value("REJECTION", Hasher::Method::kRejection)
      .value("BINWISE", Hasher::Method::kBinwise)
      .value("EXTREMAL", Hasher::Method::kExtremal);

  nb::class_<Hasher>(m, "Hasher", "Samples and codes of one seed, for rows of n_columns numbers.")
      .def(
          "__init__",
          [](Hasher* self, std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes,
             Hasher::Scan scan, Hasher::Method method, const std::optional<std::vector<std::uint32_t>>& hash_numbers) {
            require(n_columns >= 1 && n_columns <= (std::size_t{1} << 31), "n_columns must be from 1 to 2**31");
            require(n_hashes >= 1 && n_hashes <= (std::size_t{1} << 20), "n_hashes must be from 1 to 2**20");
            new (self) Hasher(seed, n_columns, numbers_of_hashes(n_hashes, hash_numbers, method), table_bytes, scan, method);
          },
          "seed"_a, "n_columns"_a, "n_hashes"_a, "table_bytes"_a, "scan"_a, "method"_a = Hasher::Method::kGcws,
          "hash_numbers"_a = nb::none())
      .def(
          "use_caps",
          [](Hasher& self, const Vector& log_caps, const Vector& ends) {
            require(self.rejection() != nullptr, "only the method REJECTION has caps");
            const std::size_t n = 2 * self.n_columns();
            const float* log_cap = numbers<float>(log_caps, n, "log_caps must be one float32 per feature, contiguous");
            const std::uint64_t* end = numbers<std::uint64_t>(ends, n, "ends must be one uint64 per feature, contiguous");
            require(std::is_sorted(end, end + n) && end[n - 1] == std::uint64_t{1} << 63,
                    "ends must never fall and end with 2**63");
            self.rejection()->use_caps(log_cap, end);
          },
          "log_caps"_a, "ends"_a, "Caps of all features, and ends of their points; for the method REJECTION, before rows.")
      .def(
          "samples_of_dense",
          [](Hasher& self, const Matrix& X, float p, bool nan_is_zero, const OutMatrix& i_star, const OutMatrix& t_star,
             int n_threads) {
            with_dense_rows(self, X, [&](const auto& rows) {
              write_samples(self, rows, {p, nan_is_zero}, i_star, t_star, n_threads);
            });
          },
          "X"_a, "p"_a, "nan_is_zero"_a, "i_star"_a.noconvert(), "t_star"_a.noconvert(), "n_threads"_a)
      .def(
          "samples_of_csr",
          [](Hasher& self, const Vector& data, const Vector& indices, const Vector& indptr, float p, bool nan_is_zero,
             const OutMatrix& i_star, const OutMatrix& t_star, int n_threads) {
            with_csr_rows(self, data, indices, indptr, [&](const auto& rows) {
              write_samples(self, rows, {p, nan_is_zero}, i_star, t_star, n_threads);
            });
          },
          "data"_a, "indices"_a, "indptr"_a, "p"_a, "nan_is_zero"_a, "i_star"_a.noconvert(), "t_star"_a.noconvert(), "n_threads"_a)
      .def(
          "codes_of_dense",
          [](Hasher& self, const Matrix& X, float p, bool nan_is_zero, const Encoding& encoding, const OutMatrix& out,
             int n_threads) {
            with_dense_rows(self, X, [&](const auto& rows) {
              write_codes(self, rows, {p, nan_is_zero}, encoding, out, n_threads);
            });
          },
          "X"_a, "p"_a, "nan_is_zero"_a, "encoding"_a, "out"_a.noconvert(), "n_threads"_a)
      .def(
          "codes_of_csr",
          [](Hasher& self, const Vector& data, const Vector& indices, const Vector& indptr, float p, bool nan_is_zero,
             const Encoding& encoding, const OutMatrix& out, int n_threads) {
            with_csr_rows(self, data, indices, indptr, [&](const auto& rows) {
              write_codes(self, rows, {p, nan_is_zero}, encoding, out, n_threads);
            });
          },
          "data"_a, "indices"_a, "indptr"_a, "p"_a, "nan_is_zero"_a, "encoding"_a, "out"_a.noconvert(), "n_threads"_a);

  m.def(
      "pgmm_dense",
      [](const Matrix& x, const Vector& x_scale, const Matrix& y, const Vector& y_scale, bool has_negative,
         const OutMatrix& out, int n_threads) {
        const PoweredRows rows_x = powered_rows(x, x_scale);
        const PoweredRows rows_y = powered_rows(y, y_scale);
        require(rows_x.n_columns == rows_y.n_columns, "both matrices must have as many columns");
        double* to = kernel_block(out, rows_x.n_rows, rows_y.n_rows);
        without_gil([&](StopSign& stop_sign) {
          pgmm_dense(rows_x, rows_y, has_negative, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads, stop_sign);
        });
      },
      "x"_a, "x_scale"_a, "y"_a, "y_scale"_a, "has_negative"_a, "out"_a.noconvert(), "n_threads"_a,
      "Writes the pGMM kernel of two blocks of powered rows, any sign.");
  m.def(
      "pgmm_sparse",
      [](const Vector& x_start, const Vector& x_row, const Vector& x_value, const Vector& x_scale, const Vector& x_sum,
         const Vector& y_start, const Vector& y_column, const Vector& y_value, const Vector& y_scale, const Vector& y_sum,
         const OutMatrix& out, int n_threads) {
        require(x_start.shape(0) >= 1 && y_start.shape(0) >= 1, "index pointers must not be empty");
        const std::size_t n_x = x_scale.shape(0), n_columns = x_start.shape(0) - 1, x_stored = x_value.shape(0);
        const std::size_t n_y = y_start.shape(0) - 1, y_stored = y_value.shape(0);
        const char* rule = "arrays of one sparse matrix must be contiguous int64 and float64, as long as each other";
        const PoweredColumns columns{numbers<std::int64_t>(x_start, n_columns + 1, rule),
                                     numbers<std::int64_t>(x_row, x_stored, rule),
                                     numbers<double>(x_value, x_stored, rule),
                                     numbers<double>(x_scale, n_x, rule),
                                     numbers<double>(x_sum, n_x, rule),
                                     n_x,
                                     n_columns,
                                     x_stored};
        const PoweredCsr rows{numbers<std::int64_t>(y_start, n_y + 1, rule),
                              numbers<std::int64_t>(y_column, y_stored, rule),
                              numbers<double>(y_value, y_stored, rule),
                              numbers<double>(y_scale, n_y, rule),
                              numbers<double>(y_sum, n_y, rule),
                              n_y,
                              y_stored};
        double* to = kernel_block(out, n_x, n_y);
        without_gil([&](StopSign& stop_sign) {
          pgmm_sparse(columns, rows, to, static_cast<std::ptrdiff_t>(out.stride(0)), n_threads, stop_sign);
        });
      },
      "x_start"_a, "x_row"_a, "x_value"_a, "x_scale"_a, "x_sum"_a, "y_start"_a, "y_column"_a, "y_value"_a, "y_scale"_a,
      "y_sum"_a, "out"_a.noconvert(), "n_threads"_a,
      "Writes the pGMM kernel of powered non-negative rows: the first matrix by columns, the second by rows.");

  bind_hashed_linear(m);
  bind_training(m);
  bind_reading(m);
}
