#include "base/bindings.hpp"

#include <nanobind/stl/optional.h>

#include <memory>

#include "search/search.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kMaxRows = 0xfffffffe;

PackedCodes packed_codes(const Matrix& codes, std::size_t n_hashes, int bits) {
  require(bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32,
          "bits must be 1, 2, 4, 8, 16 or 32");
  const auto type = bits <= 8    ? nb::dtype<std::uint8_t>()
                    : bits == 16 ? nb::dtype<std::uint16_t>()
                                 : nb::dtype<std::uint32_t>();
  require(codes.dtype() == type, "codes must be uint8 for up to 8 bits, uint16 for 16 and uint32 for 32");
  require(n_hashes >= 1, "there must be at least one hash");
  const std::size_t share = bits < 8 ? 8 / static_cast<std::size_t>(bits) : 1;  // codes in a number
  require(codes.shape(1) == (n_hashes + share - 1) / share, "codes must have as many columns as n_hashes codes fill");
  require(codes.size() == 0 || codes.shape(0) == 1 ||
              (codes.stride(1) == 1 && codes.stride(0) == static_cast<std::int64_t>(codes.shape(1))),
          "codes must be contiguous");
  require(codes.shape(0) <= kMaxRows, "there must be less than 2**32 - 1 rows");
  return {static_cast<const unsigned char*>(codes.data()), codes.shape(0), n_hashes, bits};
}

Buckets buckets_of(const Matrix& keys, const Matrix& rows, std::size_t width) {
  const char* rule = "keys and rows of buckets must be bands x rows, uint32 and contiguous";
  const std::size_t n_bands = keys.shape(0), n = keys.shape(1);
  return {contiguous<const std::uint32_t>(keys, n_bands, n, rule),
          contiguous<const std::uint32_t>(rows, n_bands, n, rule), n_bands, n, width};
}

SearchedRows searched_rows(const PackedCodes& queries, const Matrix& codes, const std::optional<Vector>& live,
                           std::size_t first) {
  const PackedCodes rows = packed_codes(codes, queries.n_hashes, queries.code_bits);
  require(first + rows.n_rows <= kMaxRows, "there must be less than 2**32 - 1 rows");
  const std::uint8_t* mask =
      live ? contiguous<const std::uint8_t>(*live, rows.n_rows, "live must be uint8, one number for each row")
           : nullptr;
  return {rows, mask, static_cast<std::uint32_t>(first)};
}

SearchOptions search_options(const PackedCodes& queries, std::size_t max_results, const Vector& min_equal,
                             std::int64_t before) {
  return {max_results,
          contiguous<const std::uint32_t>(min_equal, queries.n_rows, "least must be uint32, one number for each query"),
          before};
}

nb::tuple as_tuple(SearchResult&& found) {
  return nb::make_tuple(as_array(std::move(found.start)), as_array(std::move(found.ranks)));
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def(
      "scan",
      [](const Matrix& queries, const Matrix& codes, std::size_t n_hashes, int bits, const std::optional<Vector>& live,
         std::size_t first, std::size_t max_results, const Vector& min_equal, std::int64_t before, int n_threads) {
        const PackedCodes asked = packed_codes(queries, n_hashes, bits);
        const SearchedRows rows = searched_rows(asked, codes, live, first);
        const SearchOptions options = search_options(asked, max_results, min_equal, before);
        SearchResult found;
        without_gil([&](StopToken& stop_token) { found = scan(asked, rows, options, n_threads, stop_token); });
        return as_tuple(std::move(found));
      },
      "queries"_a.noconvert(), "codes"_a.noconvert(), "n_hashes"_a, "bits"_a, "live"_a.noconvert().none(), "first"_a,
      "most"_a, "least"_a.noconvert(), "before"_a, "n_threads"_a,
      "Return where the ranks of each query start, and the ranks: equal codes * 2**32 + 2**32 - 1 - row, best first.");
  m.def(
      "search_buckets",
      [](const Matrix& queries, const Matrix& codes, std::size_t n_hashes, int bits, const std::optional<Vector>& live,
         std::size_t first, const Matrix& keys, const Matrix& rows, std::size_t width, std::size_t max_results,
         const Vector& min_equal, std::int64_t before, int n_threads) {
        const PackedCodes asked = packed_codes(queries, n_hashes, bits);
        const SearchedRows searched = searched_rows(asked, codes, live, first);
        const Buckets buckets = buckets_of(keys, rows, width);
        require(buckets.n_rows == searched.codes.n_rows, "there must be as many rows in each band as there are codes");
        require(width >= 1 && buckets.n_bands <= asked.n_hashes / width, "bands must fit into the codes");
        const SearchOptions options = search_options(asked, max_results, min_equal, before);
        SearchResult found;
        without_gil([&](StopToken& stop_token) {
          found = search_buckets(asked, searched, buckets, options, n_threads, stop_token);
        });
        return as_tuple(std::move(found));
      },
      "queries"_a.noconvert(), "codes"_a.noconvert(), "n_hashes"_a, "bits"_a, "live"_a.noconvert().none(), "first"_a,
      "keys"_a.noconvert(), "rows"_a.noconvert(), "width"_a, "most"_a, "least"_a.noconvert(), "before"_a, "n_threads"_a,
      "Return what scan does, of the rows that share a bucket with the query.");
  m.def(
      "build_buckets",
      [](const Matrix& codes, std::size_t n_hashes, int bits, std::size_t width, const OutMatrix& keys,
         const OutMatrix& rows, int n_threads) {
        const PackedCodes from = packed_codes(codes, n_hashes, bits);
        const char* rule = "keys and rows of buckets must be bands x rows, uint32 and contiguous";
        const std::size_t n_bands = keys.shape(0);
        auto* keys_to = contiguous<std::uint32_t>(keys, n_bands, from.n_rows, rule);
        auto* rows_to = contiguous<std::uint32_t>(rows, n_bands, from.n_rows, rule);
        require(width >= 1 && n_bands <= from.n_hashes / width, "bands must fit into the codes");
        without_gil([&](StopToken& stop_token) {
          build_buckets(from, n_bands, width, keys_to, rows_to, n_threads, stop_token);
        });
      },
      "codes"_a.noconvert(), "n_hashes"_a, "bits"_a, "width"_a, "keys"_a.noconvert(), "rows"_a.noconvert(),
      "n_threads"_a, "Write the keys of the bands of each row, sorted, and the rows in this order.");
  m.def(
      "merge_buckets",
      [](const Matrix& keys_a, const Matrix& rows_a, const Matrix& keys_b, const Matrix& rows_b, std::uint32_t shift,
         const OutMatrix& keys, const OutMatrix& rows, int n_threads) {
        const Buckets a = buckets_of(keys_a, rows_a, 1), b = buckets_of(keys_b, rows_b, 1);
        require(a.n_bands == b.n_bands, "both must have as many bands");
        const std::size_t n = a.n_rows + b.n_rows;
        const char* rule = "keys and rows must be bands x all rows, uint32 and contiguous";
        auto* keys_to = contiguous<std::uint32_t>(keys, a.n_bands, n, rule);
        auto* rows_to = contiguous<std::uint32_t>(rows, a.n_bands, n, rule);
        without_gil(
            [&](StopToken& stop_token) { merge_buckets(a, b, shift, keys_to, rows_to, n_threads, stop_token); });
      },
      "keys_a"_a.noconvert(), "rows_a"_a.noconvert(), "keys_b"_a.noconvert(), "rows_b"_a.noconvert(), "shift"_a,
      "keys"_a.noconvert(), "rows"_a.noconvert(), "n_threads"_a,
      "Write the buckets of the rows of a and of those of b, whose numbers grow by shift.");
}

}  // namespace gcwsnet
