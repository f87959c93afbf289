// Rows of the LIBSVM format, one to a line: "label [qid:number] index:value index:value ... [# comment]".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcwsnet {

enum class LibsvmFault {
  kNone,
  kNoLabel,
  kManyLabels,
  kLabel,
  kLabelNotFinite,
  kPair,
  kIndex,
  kIndexTooSmall,
  kIndexTooLarge,
  kDuplicate,
  kValue,
  kMissing,
  kInfinity,
  kOverflow,
};

enum class Missing { kError, kZero, kNan };

struct LibsvmRules {
  std::int64_t index_base;  // the index of the first column
  std::int64_t n_columns;   // at most 2**31
  Missing missing;          // what a value of NaN becomes
};

// The rows of a text up to its end, or up to a line that breaks a rule.
template <class Number>
struct LibsvmRows {
  std::vector<double> labels;
  std::vector<std::int32_t> lines;    // of each row, counted from 0
  std::vector<std::int32_t> ends{0};  // of each row among the columns and values, after a leading 0
  std::vector<std::int32_t> columns;  // rising within a row
  std::vector<Number> values;
  std::size_t n_bytes = 0;   // of the lines that were read
  std::int32_t n_lines = 0;  // that were read, blank ones too
  LibsvmFault fault = LibsvmFault::kNone;
  std::size_t fault_begin = 0, fault_end = 0;  // the part of the text that breaks the rule
};

// The text must have less than 2**31 bytes. Its last line need not end with a newline.
template <class Number>
LibsvmRows<Number> parse_libsvm(const char* text, std::size_t n_bytes, const LibsvmRules& rules);

}  // namespace gcwsnet
