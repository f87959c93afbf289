// Any bytes as CSV: rows and scans are the same wherever the text is cut, and fields are within their rows.
#include "reading/csv.hpp"

#include "require.hpp"

using namespace gcwsnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* text = reinterpret_cast<const char*>(data) + 2;
  const std::size_t n = size - 2;
  const char delimiter = data[0] & 1 ? ',' : ';';
  const CsvRows rows = split_csv_rows(text, n, delimiter);
  const std::size_t n_rows = rows.begins.size();
  REQUIRE(rows.ends.size() == n_rows && rows.lines.size() == n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) {
    REQUIRE(rows.begins[row] >= (row == 0 ? 0 : rows.ends[row - 1]) && rows.begins[row] < rows.ends[row]);
    REQUIRE(rows.ends[row] <= static_cast<std::int64_t>(n) && (row == 0 || rows.lines[row - 1] < rows.lines[row]));
    const auto length = static_cast<std::size_t>(rows.ends[row] - rows.begins[row]);
    std::size_t in_fields = 0;
    for (const auto& field : split_csv_fields(text + rows.begins[row], length, delimiter)) in_fields += field.size();
    REQUIRE(in_fields <= length);
  }

  const CsvScan whole = scan_csv(text, n, delimiter, CsvState::kFieldStart, false);
  REQUIRE(whole.end <= n && whole.end_lines <= whole.lines);
  const CsvRows before = split_csv_rows(text, whole.end, delimiter);
  const CsvRows behind = split_csv_rows(text + whole.end, n - whole.end, delimiter);
  REQUIRE(before.begins.size() + behind.begins.size() == n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) {
    const bool is_before = row < before.begins.size();
    const std::size_t place = is_before ? row : row - before.begins.size();
    const auto first = static_cast<std::int64_t>(is_before ? 0 : whole.end);
    REQUIRE((is_before ? before : behind).begins[place] + first == rows.begins[row]);
  }

  const std::size_t cut = n == 0 ? 0 : data[1] % (n + 1);
  const CsvScan first = scan_csv(text, cut, delimiter, CsvState::kFieldStart, false);
  const CsvScan second = scan_csv(text + cut, n - cut, delimiter, first.state, first.after_return);
  REQUIRE(second.state == whole.state && first.lines + second.lines == whole.lines);
  REQUIRE(n == cut || second.after_return == whole.after_return);
  if (second.end > 0) {
    REQUIRE(cut + second.end == whole.end);
  } else {  // a row that ends with a return, the last byte before the cut, may have its end at the cut
    REQUIRE(whole.end == first.end || (first.state == CsvState::kAfterReturn && whole.end == cut));
  }
  return 0;
}
