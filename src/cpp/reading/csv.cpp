#include "reading/csv.hpp"

#include <cstring>

namespace gcwsnet {

namespace {

// The state after a byte. `row_ended` is set if the byte ends a row; a newline after a return ends none.
CsvState next_state(CsvState state, char byte, char delimiter, bool& row_ended) {
  row_ended = false;
  if (state == CsvState::kAfterReturn) {
    if (byte == '\n') return CsvState::kFieldStart;
    state = CsvState::kFieldStart;
  }
  if (state == CsvState::kQuoted) return byte == '"' ? CsvState::kQuoteInQuoted : CsvState::kQuoted;
  if (byte == '"') {
    return state == CsvState::kField ? CsvState::kField : CsvState::kQuoted;
  }
  if (byte == delimiter) return CsvState::kFieldStart;
  if (byte == '\n' || byte == '\r') {
    row_ended = true;
    return byte == '\r' ? CsvState::kAfterReturn : CsvState::kFieldStart;
  }
  return CsvState::kField;
}

// Whether a byte ends a line: a newline after a return ends no further one.
bool ends_line(char byte, bool after_return) { return byte == '\r' || (byte == '\n' && !after_return); }

// The line ends of a text, of which the byte before is a return or not.
std::int64_t count_lines(const char* text, std::size_t n_bytes, bool after_return) {
  if (n_bytes == 0) return 0;
  std::int64_t lines = ends_line(text[0], after_return);
  for (std::size_t i = 1; i < n_bytes; ++i) {
    lines += (text[i] == '\r') + ((text[i] == '\n') & (text[i - 1] != '\r'));
  }
  return lines;
}

// The scan of a text that has no double quote and does not begin within quotes, but has a newline.
CsvScan scan_without_quotes(const char* text, std::size_t n_bytes, std::size_t end, char delimiter, bool after_return) {
  CsvScan scan{end, count_lines(text, end, after_return), 0, CsvState::kFieldStart, text[n_bytes - 1] == '\r'};
  scan.lines = scan.end_lines + count_lines(text + end, n_bytes - end, false);
  bool row_ended;
  for (std::size_t i = end; i < n_bytes; ++i) scan.state = next_state(scan.state, text[i], delimiter, row_ended);
  return scan;
}

}  // namespace

CsvScan scan_csv(const char* text, std::size_t n_bytes, char delimiter, CsvState state, bool after_return) {
  if (state != CsvState::kQuoted && std::memchr(text, '"', n_bytes) == nullptr) {
    std::size_t end = n_bytes;
    while (end > 0 && text[end - 1] != '\n') --end;
    if (end > 0) return scan_without_quotes(text, n_bytes, end, delimiter, after_return);
  }
  CsvScan scan{0, 0, 0, state, after_return};
  for (std::size_t i = 0; i < n_bytes; ++i) {
    const char byte = text[i];
    const bool was_after_return = scan.state == CsvState::kAfterReturn;
    if (was_after_return && byte != '\n' && i > 0) {  // the row before has ended with the return alone
      scan.end = i;
      scan.end_lines = scan.lines;
    }
    if (ends_line(byte, scan.after_return)) ++scan.lines;
    scan.after_return = byte == '\r';
    bool row_ended;
    scan.state = next_state(scan.state, byte, delimiter, row_ended);
    if (byte == '\n' && (row_ended || was_after_return)) {
      scan.end = i + 1;
      scan.end_lines = scan.lines;
    }
  }
  return scan;
}

CsvRows split_csv_rows(const char* text, std::size_t n_bytes, char delimiter) {
  CsvRows rows;
  CsvState state = CsvState::kFieldStart;
  std::size_t begin = 0;
  std::int64_t line = 0, begin_line = 0;
  bool after_return = false;
  const auto add = [&](std::size_t end) {
    if (end > begin) {
      rows.begins.push_back(static_cast<std::int64_t>(begin));
      rows.ends.push_back(static_cast<std::int64_t>(end));
      rows.lines.push_back(begin_line);
    }
  };
  for (std::size_t i = 0; i < n_bytes; ++i) {
    const char byte = text[i];
    const bool was_after_return = state == CsvState::kAfterReturn;
    if (ends_line(byte, after_return)) ++line;
    after_return = byte == '\r';
    bool row_ended;
    state = next_state(state, byte, delimiter, row_ended);
    if (row_ended) add(i);
    if (row_ended || (was_after_return && byte == '\n')) {
      begin = i + 1;
      begin_line = line;
    }
  }
  add(n_bytes);
  return rows;
}

std::vector<std::string> split_csv_fields(const char* row, std::size_t n_bytes, char delimiter) {
  std::vector<std::string> fields(1);
  CsvState state = CsvState::kFieldStart;
  for (std::size_t i = 0; i < n_bytes; ++i) {
    bool row_ended;
    const CsvState before = state;
    state = next_state(state, row[i], delimiter, row_ended);
    if (state == CsvState::kFieldStart && !row_ended && before != CsvState::kAfterReturn) {
      fields.emplace_back();
    } else if (!row_ended && state != CsvState::kQuoteInQuoted &&
               !(before == CsvState::kFieldStart && state == CsvState::kQuoted)) {
      fields.back().push_back(row[i]);
    }
  }
  return fields;
}

}  // namespace gcwsnet
