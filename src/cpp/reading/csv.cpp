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

}  // namespace

CsvScan scan_csv(const char* text, std::size_t n_bytes, char delimiter, CsvState state, bool after_return) {
  std::size_t end = 0, i = 0;
  if (state != CsvState::kQuoted && std::memchr(text, '"', n_bytes) == nullptr) {  // the last newline ends a row
    std::size_t last = n_bytes;
    while (last > 0 && text[last - 1] != '\n') --last;
    if (last > 0) {
      end = i = last;
      state = CsvState::kFieldStart;
    }
  }
  while (i < n_bytes) {
    if (state == CsvState::kQuoted) {
      const void* quote = std::memchr(text + i, '"', n_bytes - i);
      if (quote == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const char*>(quote) - text);
    } else if (state == CsvState::kField) {
      while (i < n_bytes && text[i] != delimiter && text[i] != '\n' && text[i] != '\r') ++i;
      if (i == n_bytes) break;
    }
    const bool was_after_return = state == CsvState::kAfterReturn;
    if (was_after_return && text[i] != '\n' && i > 0) end = i;  // the row before has ended with the return alone
    bool row_ended;
    state = next_state(state, text[i], delimiter, row_ended);
    if (text[i] == '\n' && (row_ended || was_after_return)) end = i + 1;
    ++i;
  }
  CsvScan scan{end, count_lines(text, end, after_return), 0, state, after_return};
  const bool end_is_after_return = end > 0 ? text[end - 1] == '\r' : after_return;
  scan.lines = scan.end_lines + count_lines(text + end, n_bytes - end, end_is_after_return);
  if (n_bytes > 0) scan.after_return = text[n_bytes - 1] == '\r';
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
