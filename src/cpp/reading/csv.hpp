// Rows and fields of CSV as pyarrow, pandas and Python's csv split them: a double quote at the beginning of a field
// opens a quoted part, which ends at the next double quote that is not doubled; anywhere else a double quote is a
// letter. A row ends outside of quotes, at a newline, at a carriage return, or at both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gcwsnet {

// Where a scan stands between two bytes.
enum class CsvState : std::uint8_t {
  kFieldStart,  // also at the start of a row
  kField,
  kQuoted,
  kQuoteInQuoted,  // after a double quote that closes the quoted part, or is the first of two
  kAfterReturn,    // after a carriage return that has ended a row: a newline still belongs to it
};

struct CsvScan {
  std::size_t end;         // just after the last row that ends within the text; 0 if none does
  std::int64_t end_lines;  // line ends before `end`
  std::int64_t lines;      // line ends in the whole text, also within quotes
  CsvState state;
  bool after_return;  // whether the text ends with a carriage return, within quotes or not
};

// The end of the last whole row of a text that follows one whose scan ended with `state`. A row that ends with a
// carriage return as the last byte of the text is not counted as whole, since a newline may follow.
CsvScan scan_csv(const char* text, std::size_t n_bytes, char delimiter, CsvState state, bool after_return);

// The rows of a text that are not empty. The last one need not end with a newline.
struct CsvRows {
  std::vector<std::int64_t> begins, ends;  // in bytes, without the end of the line
  std::vector<std::int64_t> lines;         // of the first byte of each row, counted from 0
};
CsvRows split_csv_rows(const char* text, std::size_t n_bytes, char delimiter);

// The fields of one row, without the quotes around them.
std::vector<std::string> split_csv_fields(const char* row, std::size_t n_bytes, char delimiter);

}  // namespace gcwsnet
