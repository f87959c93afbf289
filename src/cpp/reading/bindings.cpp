#include "base/bindings.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "reading/column_sums.hpp"
#include "reading/content_keys.hpp"
#include "reading/csv.hpp"
#include "reading/libsvm.hpp"

namespace gcwsnet {

namespace {

template <class Number>
nb::tuple libsvm_rows(const char* text, std::size_t n_bytes, const LibsvmRules& rules) {
  LibsvmRows<Number> rows;
  {
    nb::gil_scoped_release released;
    rows = parse_libsvm<Number>(text, n_bytes, rules);
  }
  return nb::make_tuple(as_array(std::move(rows.labels)), as_array(std::move(rows.values)),
                        as_array(std::move(rows.columns)), as_array(std::move(rows.ends)),
                        as_array(std::move(rows.lines)), rows.n_bytes, rows.n_lines, rows.fault, rows.fault_begin,
                        rows.fault_end);
}

template <class Number>
Columns<Number> columns_of(const Matrix& x) {
  return {static_cast<const Number*>(x.data()), x.shape(0), x.shape(1), static_cast<std::ptrdiff_t>(x.stride(0)),
          static_cast<std::ptrdiff_t>(x.stride(1))};
}

constexpr const char* kOneOfEach = "there must be one number per column, contiguous and of the right type";

}  // namespace

void bind_reading(nb::module_& m) {
  nb::enum_<LibsvmFault>(m, "LibsvmFault", "The rule that a line of the LIBSVM format breaks.")
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
  nb::enum_<Missing>(m, "Missing", "The treatment of a missing value.")
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
      "Return the labels, values, columns, index pointer and lines of the rows of a text, the bytes and lines that "
      "were "
      "read, and the fault that ended it, with its place.");
  m.def(
      "scan_csv",
      [](const nb::bytes& text, char delimiter, int state, bool after_return) {
        require(state >= 0 && state <= static_cast<int>(CsvState::kAfterReturn), "state must be one of a scan");
        CsvScan scan;
        {
          nb::gil_scoped_release released;
          scan = scan_csv(text.c_str(), text.size(), delimiter, static_cast<CsvState>(state), after_return);
        }
        return nb::make_tuple(scan.end, scan.end_lines, scan.lines, static_cast<int>(scan.state), scan.after_return);
      },
      "text"_a, "delimiter"_a, "state"_a, "after_return"_a,
      "Return the end of the last whole row of a CSV text that may begin within a row, the line ends before it and in "
      "all, and the state at the end: 2 within quotes; and whether the text ends with a carriage return.");
  m.def(
      "split_csv_rows",
      [](const nb::bytes& text, char delimiter) {
        CsvRows rows;
        {
          nb::gil_scoped_release released;
          rows = split_csv_rows(text.c_str(), text.size(), delimiter);
        }
        return nb::make_tuple(as_array(std::move(rows.begins)), as_array(std::move(rows.ends)),
                              as_array(std::move(rows.lines)));
      },
      "text"_a, "delimiter"_a,
      "Return where the rows of a CSV text begin and end, without empty ones, and their lines, counted from 0.");
  m.def(
      "split_csv_fields",
      [](const nb::bytes& row, char delimiter) {
        nb::list fields;
        for (const std::string& field : split_csv_fields(row.c_str(), row.size(), delimiter)) {
          fields.append(nb::bytes(field.data(), field.size()));
        }
        return fields;
      },
      "row"_a, "delimiter"_a, "Return the fields of one row of a CSV text as bytes, without the quotes around them.");
  m.def(
      "text_keys",
      [](const nb::bytes& texts, const Vector& ends, std::uint64_t state, const OutArray& out) {
        require(ends.shape(0) >= 1, "ends must not be empty");
        const std::size_t n = ends.shape(0) - 1;
        const auto* end = contiguous<const std::int64_t>(ends, n + 1, "ends must be contiguous int64");
        auto* keys = contiguous<std::uint64_t>(out, n, "out must be uint64, one for each text");
        const char* bytes = texts.c_str();
        const std::size_t n_bytes = texts.size();
        nb::gil_scoped_release released;
        require(end[0] >= 0 && std::is_sorted(end, end + n + 1) && static_cast<std::size_t>(end[n]) <= n_bytes,
                "ends must rise from 0 to at most the number of bytes");
        for (std::size_t i = 0; i < n; ++i) {
          keys[i] = mix64(fnv1a(state, bytes + end[i], static_cast<std::size_t>(end[i + 1] - end[i])));
        }
      },
      "texts"_a, "ends"_a.noconvert(), "state"_a, "out"_a.noconvert(),
      "Write a key for each of the texts that stand one behind the other: FNV-1a from a state, mixed.");
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
      "X"_a.noconvert(), "state"_a, "out"_a.noconvert(), "Write a key of the numbers of each row.");
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
            const auto* values = contiguous<const decltype(number)>(data, n, rule);
            const auto* columns = contiguous<const decltype(index)>(indices, n, rule);
            const auto* ends = contiguous<const decltype(index)>(indptr, n_rows + 1, rule);
            nb::gil_scoped_release released;
            require(
                ends[0] >= 0 && std::is_sorted(ends, ends + n_rows + 1) && static_cast<std::size_t>(ends[n_rows]) <= n,
                "the index pointer must rise from 0 to at most the number of entries");
            csr_row_keys(values, columns, ends, n_rows, state, keys);
          });
        });
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "state"_a, "out"_a.noconvert(),
      "Write a key of the numbers of each row, equal to that of the row as a dense one.");
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
