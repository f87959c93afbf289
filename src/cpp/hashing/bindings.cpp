#include "base/bindings.hpp"

#include <algorithm>

#include "hashing/hasher.hpp"

namespace gcwsnet {

namespace {

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
      const CsrRows<Number, Index> rows{static_cast<const Number*>(data.data()),
                                        static_cast<const Index*>(indices.data()),
                                        static_cast<const Index*>(indptr.data()),
                                        indptr.shape(0) - 1,
                                        hasher.n_columns(),
                                        data.shape(0)};
      {
        nb::gil_scoped_release released;
        rows.check();
      }
      function(rows);
    });
  });
}

void write_samples(Hasher& hasher, const RowSource& rows, const ReadOptions& how, const OutMatrix& i_star,
                   const OutMatrix& t_star, int n_threads) {
  for (const OutMatrix* out : {&i_star, &t_star}) {
    require(out->dtype() == nb::dtype<std::int64_t>(), "i_star and t_star must be int64");
    require(out->shape(0) == rows.n_rows() && out->shape(1) == hasher.n_hashes(),
            "i_star and t_star must be rows x hashes");
    require(out->stride(1) == 1 && out->stride(0) == static_cast<std::int64_t>(hasher.n_hashes()),
            "i_star and t_star must be contiguous");
  }
  without_gil([&](StopToken& stop_token) {
    hasher.samples(rows, how, static_cast<std::int64_t*>(i_star.data()), static_cast<std::int64_t*>(t_star.data()),
                   n_threads, stop_token);
  });
}

void write_codes(Hasher& hasher, const RowSource& rows, const ReadOptions& how, const Encoding& encoding,
                 const OutMatrix& out, int n_threads) {
  require(out.shape(0) == rows.n_rows() && out.shape(1) == hasher.n_hashes(), "codes must be rows x hashes");
  require(out.stride(1) == 1 && out.stride(0) == static_cast<std::int64_t>(hasher.n_hashes()),
          "codes must be contiguous");
  require(static_cast<int>(out.itemsize()) * 8 >= encoding.bits + encoding.t_bits,
          "the codes' type must hold their bits");
  with_code_type(out.dtype(), [&](auto code) {
    without_gil([&](StopToken& stop_token) {
      hasher.codes(rows, how, encoding, static_cast<decltype(code)*>(out.data()), n_threads, stop_token);
    });
  });
}

}  // namespace

void bind_hashing(nb::module_& m) {
  nb::class_<Encoding>(m, "Encoding", "The way in which a pair (i*, t*) becomes a code.")
      .def(
          "__init__",
          [](Encoding* self, bool mixed, bool all_of_t, int bits, int t_bits, std::uint32_t n_columns) {
            require(bits >= 1 && bits <= 32, "bits must be from 1 to 32");
            require(t_bits >= 0 && t_bits <= 8, "t_bits must be from 0 to 8");
            new (self) Encoding{mixed, all_of_t, bits, t_bits, n_columns};
          },
          "mixed"_a, "all_of_t"_a, "bits"_a, "t_bits"_a, "n_columns"_a);

  nb::enum_<Scan>(m, "Scan", "The way in which rows are scanned: the one that looks quickest, or always the same.")
      .value("AUTO", Scan::kAuto)
      .value("FULL", Scan::kFull)
      .value("SORTED", Scan::kSorted)
      .value("HEAVY", Scan::kHeavy)
      .value("RANKS", Scan::kRanks);

  nb::enum_<Hasher::Method>(m, "Method", "The sampler of a hasher.")
      .value("GCWS", Hasher::Method::kGcws)
      .value("REJECTION", Hasher::Method::kRejection)
      .value("BINWISE", Hasher::Method::kBinwise)
      .value("EXTREMAL", Hasher::Method::kExtremal)
      .value("MINWISE", Hasher::Method::kMinwise);

  nb::class_<Hasher>(m, "Hasher", "A hasher of one seed that gives samples and codes of rows of n_columns numbers.")
      .def(
          "__init__",
          [](Hasher* self, std::uint64_t seed, std::size_t n_columns, std::size_t n_hashes, std::size_t table_bytes,
             Scan scan, Hasher::Method method) {
            require(n_columns >= 1 && n_columns <= (std::size_t{1} << 31), "n_columns must be from 1 to 2**31");
            require(n_hashes >= 1 && n_hashes <= (std::size_t{1} << 20), "n_hashes must be from 1 to 2**20");
            new (self) Hasher(seed, n_columns, n_hashes, table_bytes, scan, method);
          },
          "seed"_a, "n_columns"_a, "n_hashes"_a, "table_bytes"_a, "scan"_a, "method"_a = Hasher::Method::kGcws)
      .def(
          "use_caps",
          [](Hasher& self, const Vector& log_caps, const Vector& ends) {
            const std::size_t n = 2 * self.n_columns();
            const auto* log_cap =
                contiguous<const float>(log_caps, n, "log_caps must be one float32 per feature, contiguous");
            const auto* end =
                contiguous<const std::uint64_t>(ends, n, "ends must be one uint64 per feature, contiguous");
            nb::gil_scoped_release released;
            require(std::is_sorted(end, end + n) && end[n - 1] == std::uint64_t{1} << 63,
                    "ends must never fall and end with 2**63");
            self.sampler().use_caps(log_cap, end);
          },
          "log_caps"_a, "ends"_a,
          "Set the caps of all features and the ends of their points; for the method REJECTION, before rows are "
          "hashed.")
      .def(
          "samples_of_dense",
          [](Hasher& self, const Matrix& X, float p, bool nan_is_zero, const OutMatrix& i_star, const OutMatrix& t_star,
             int n_threads) {
            with_dense_rows(self, X, [&](const RowSource& rows) {
              write_samples(self, rows, {p, nan_is_zero}, i_star, t_star, n_threads);
            });
          },
          "X"_a, "p"_a, "nan_is_zero"_a, "i_star"_a.noconvert(), "t_star"_a.noconvert(), "n_threads"_a)
      .def(
          "samples_of_csr",
          [](Hasher& self, const Vector& data, const Vector& indices, const Vector& indptr, float p, bool nan_is_zero,
             const OutMatrix& i_star, const OutMatrix& t_star, int n_threads) {
            with_csr_rows(self, data, indices, indptr, [&](const RowSource& rows) {
              write_samples(self, rows, {p, nan_is_zero}, i_star, t_star, n_threads);
            });
          },
          "data"_a, "indices"_a, "indptr"_a, "p"_a, "nan_is_zero"_a, "i_star"_a.noconvert(), "t_star"_a.noconvert(),
          "n_threads"_a)
      .def(
          "codes_of_dense",
          [](Hasher& self, const Matrix& X, float p, bool nan_is_zero, const Encoding& encoding, const OutMatrix& out,
             int n_threads) {
            with_dense_rows(self, X, [&](const RowSource& rows) {
              write_codes(self, rows, {p, nan_is_zero}, encoding, out, n_threads);
            });
          },
          "X"_a, "p"_a, "nan_is_zero"_a, "encoding"_a, "out"_a.noconvert(), "n_threads"_a)
      .def(
          "codes_of_csr",
          [](Hasher& self, const Vector& data, const Vector& indices, const Vector& indptr, float p, bool nan_is_zero,
             const Encoding& encoding, const OutMatrix& out, int n_threads) {
            with_csr_rows(self, data, indices, indptr, [&](const RowSource& rows) {
              write_codes(self, rows, {p, nan_is_zero}, encoding, out, n_threads);
            });
          },
          "data"_a, "indices"_a, "indptr"_a, "p"_a, "nan_is_zero"_a, "encoding"_a, "out"_a.noconvert(), "n_threads"_a);
}

}  // namespace gcwsnet
