// Any bytes as LIBSVM lines: rows keep the promises of `LibsvmRows`, and are the same when the text is cut at a newline.
#include "reading/libsvm.hpp"

#include <cmath>

#include "require.hpp"

using namespace gcwsnet;

namespace {

template <class Number>
void check(const LibsvmRows<Number>& rows, const LibsvmRules& rules, std::size_t n_bytes) {
  const std::size_t n = rows.labels.size();
  REQUIRE(rows.lines.size() == n && rows.ends.size() == n + 1 && rows.columns.size() == rows.values.size());
  REQUIRE(rows.ends[0] == 0 && static_cast<std::size_t>(rows.ends[n]) == rows.columns.size());
  for (std::size_t row = 0; row < n; ++row) {
    REQUIRE(std::isfinite(rows.labels[row]) && rows.ends[row] <= rows.ends[row + 1]);
    REQUIRE(row == 0 || rows.lines[row - 1] < rows.lines[row]);
    for (auto i = static_cast<std::size_t>(rows.ends[row]); i < static_cast<std::size_t>(rows.ends[row + 1]); ++i) {
      REQUIRE(rows.columns[i] >= 0 && rows.columns[i] < rules.n_columns);
      REQUIRE(i == static_cast<std::size_t>(rows.ends[row]) || rows.columns[i - 1] < rows.columns[i]);
      REQUIRE(std::isfinite(rows.values[i]) || (rules.missing == Missing::kNan && std::isnan(rows.values[i])));
    }
  }
  REQUIRE(rows.n_bytes <= n_bytes && rows.fault_begin <= rows.fault_end && rows.fault_end <= n_bytes);
  REQUIRE(rows.fault != LibsvmFault::kNone || rows.n_bytes == n_bytes);
}

template <class Number>
void check_text(const char* text, std::size_t n_bytes, const LibsvmRules& rules) {
  const auto rows = parse_libsvm<Number>(text, n_bytes, rules);
  check(rows, rules, n_bytes);
  std::size_t cut = n_bytes / 2;
  while (cut > 0 && text[cut - 1] != '\n') --cut;
  const auto first = parse_libsvm<Number>(text, cut, rules);
  check(first, rules, cut);
  if (first.fault != LibsvmFault::kNone) {
    REQUIRE(rows.fault == first.fault && rows.labels == first.labels && rows.columns == first.columns);
    return;
  }
  const auto second = parse_libsvm<Number>(text + cut, n_bytes - cut, rules);
  REQUIRE(first.labels.size() + second.labels.size() == rows.labels.size() && second.fault == rows.fault);
  REQUIRE(first.n_lines + second.n_lines == rows.n_lines && cut + second.n_bytes == rows.n_bytes);
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const bool is_first = i < first.columns.size();
    REQUIRE(rows.columns[i] == (is_first ? first.columns[i] : second.columns[i - first.columns.size()]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* text = reinterpret_cast<const char*>(data) + 1;
  const LibsvmRules rules{data[0] & 1, data[0] & 2 ? std::int64_t{1} << 31 : 5, static_cast<Missing>(data[0] / 4 % 3)};
  check_text<double>(text, size - 1, rules);
  check_text<float>(text, size - 1, rules);
  return 0;
}
