#include "reading/libsvm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "reading/decimal.hpp"

namespace gcwsnet {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

const char* skip_spaces(const char* at, const char* end) {
  while (at != end && is_space(*at)) ++at;
  return at;
}

const char* token_end(const char* at, const char* end) {
  while (at != end && !is_space(*at)) ++at;
  return at;
}

struct Index {
  std::int64_t value;  // -1 if the text is no index; stays large once it is beyond all columns
  const char* end;
};

Index read_index(const char* at, const char* end) {
  if (at != end && *at == '+') ++at;
  const char* const first = at;
  std::int64_t value = 0;
  for (; at != end && decimal::is_digit(*at); ++at) {
    if (value < std::int64_t{1} << 58) value = value * 10 + (*at - '0');
  }
  return {at == first ? -1 : value, at};
}

// Reads one line after the other into the rows. What is found at fault is remembered, and the line is taken back.
template <class Number>
class LineParser {
 public:
  LineParser(const char* text, const LibsvmRules& rules, LibsvmRows<Number>& rows)
      : text_(text), rules_(rules), rows_(rows) {}

  // False at a fault.
  bool read(const char* at, const char* end) {
    if (const void* comment = std::memchr(at, '#', static_cast<std::size_t>(end - at))) {
      end = static_cast<const char*>(comment);
    }
    at = skip_spaces(at, end);
    if (at == end) return true;
    const std::size_t start = rows_.columns.size();
    const char* const first = at;
    double label = 0.0;
    if (!read_label(at, end, label) || !read_pairs(at, end) || (unsorted_ && !sort(start, first, end))) {
      rows_.columns.resize(start);
      rows_.values.resize(start);
      return false;
    }
    rows_.labels.push_back(label);
    rows_.lines.push_back(rows_.n_lines);
    rows_.ends.push_back(static_cast<std::int32_t>(rows_.columns.size()));
    return true;
  }

 private:
  bool fault(LibsvmFault what, const char* begin, const char* end) {
    rows_.fault = what;
    rows_.fault_begin = static_cast<std::size_t>(begin - text_);
    rows_.fault_end = static_cast<std::size_t>(end - text_);
    return false;
  }

  bool read_label(const char*& at, const char* end, double& label) {
    const Decimal number = read_decimal(at, end);
    if (number.end == end || is_space(*number.end)) {
      if (number.kind != DecimalKind::kFinite) return label_fault(number.kind, at, number.end);
      label = number.value;
      at = skip_spaces(number.end, end);
      if (end - at >= 4 && std::memcmp(at, "qid:", 4) == 0) at = skip_spaces(token_end(at, end), end);
      return true;
    }
    const char* const behind = token_end(at, end);
    if (std::find(at, behind, ':') != behind) return fault(LibsvmFault::kNoLabel, at, behind);
    if (std::find(at, behind, ',') != behind) return fault(LibsvmFault::kManyLabels, at, behind);
    return fault(LibsvmFault::kLabel, at, behind);
  }

  bool label_fault(DecimalKind kind, const char* at, const char* behind) {
    if (kind == DecimalKind::kNone) return fault(LibsvmFault::kLabel, at, behind);
    return fault(kind == DecimalKind::kOverflow ? LibsvmFault::kOverflow : LibsvmFault::kLabelNotFinite, at, behind);
  }

  bool read_pairs(const char* at, const char* end) {
    unsorted_ = false;
    std::int64_t before = -1;
    while (at != end) {
      const Index index = read_index(at, end);
      if (index.value < 0 || index.end == end || *index.end != ':') return pair_fault(at, token_end(at, end));
      const std::int64_t column = index.value - rules_.index_base;
      if (column < 0) return fault(LibsvmFault::kIndexTooSmall, at, index.end);
      if (column >= rules_.n_columns) return fault(LibsvmFault::kIndexTooLarge, at, index.end);
      if (column == before) return fault(LibsvmFault::kDuplicate, at, index.end);
      unsorted_ |= column < before;
      before = column;

      const char* const written = index.end + 1;
      const Decimal number = read_decimal(written, end);
      Number value = static_cast<Number>(number.value);
      const bool whole = number.end == end || is_space(*number.end);
      if (!whole || number.kind != DecimalKind::kFinite || std::isinf(value)) {
        if (!value_is_missing(number.kind, whole)) return value_fault(number.kind, whole, written, token_end(at, end));
        value = rules_.missing == Missing::kZero ? Number{0} : std::numeric_limits<Number>::quiet_NaN();
      }
      rows_.columns.push_back(static_cast<std::int32_t>(column));
      rows_.values.push_back(value);
      at = skip_spaces(number.end, end);
    }
    return true;
  }

  bool value_is_missing(DecimalKind kind, bool whole) const {
    return whole && kind == DecimalKind::kNan && rules_.missing != Missing::kError;
  }

  bool value_fault(DecimalKind kind, bool whole, const char* at, const char* behind) {
    if (!whole || kind == DecimalKind::kNone) return fault(LibsvmFault::kValue, at, behind);
    if (kind == DecimalKind::kNan) return fault(LibsvmFault::kMissing, at, behind);
    if (kind == DecimalKind::kInfinity) return fault(LibsvmFault::kInfinity, at, behind);
    return fault(LibsvmFault::kOverflow, at, behind);
  }

  bool pair_fault(const char* at, const char* behind) {
    const char* const colon = std::find(at, behind, ':');
    if (colon == behind || colon == at) return fault(LibsvmFault::kPair, at, behind);
    const Index index = *at == '-' ? read_index(at + 1, colon) : Index{-1, at};
    if (index.value >= 0 && index.end == colon) return fault(LibsvmFault::kIndexTooSmall, at, colon);
    return fault(LibsvmFault::kIndex, at, colon);
  }

  // Puts the columns from `start` on in order. False if one of them is there twice.
  bool sort(std::size_t start, const char* at, const char* end) {
    std::vector<std::pair<std::int32_t, Number>> pairs;
    for (std::size_t i = start; i < rows_.columns.size(); ++i) pairs.emplace_back(rows_.columns[i], rows_.values[i]);
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i > 0 && pairs[i].first == pairs[i - 1].first) return duplicate_fault(pairs[i].first, at, end);
      rows_.columns[start + i] = pairs[i].first;
      rows_.values[start + i] = pairs[i].second;
    }
    return true;
  }

  bool duplicate_fault(std::int32_t column, const char* at, const char* end) {
    bool once = false;
    for (; at != end; at = skip_spaces(token_end(at, end), end)) {
      const Index index = read_index(at, end);
      if (index.end == end || *index.end != ':' || index.value - rules_.index_base != column) continue;
      if (once) return fault(LibsvmFault::kDuplicate, at, index.end);
      once = true;
    }
    return fault(LibsvmFault::kDuplicate, at, end);
  }

  const char* text_;
  const LibsvmRules& rules_;
  LibsvmRows<Number>& rows_;
  bool unsorted_ = false;
};

}  // namespace

template <class Number>
LibsvmRows<Number> parse_libsvm(const char* text, std::size_t n_bytes, const LibsvmRules& rules) {
  LibsvmRows<Number> rows;
  rows.columns.reserve(n_bytes / 8);
  rows.values.reserve(n_bytes / 8);
  LineParser<Number> parser(text, rules, rows);
  const char* const end = text + n_bytes;
  for (const char* at = text; at != end;) {
    const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    const char* const line_end = newline ? static_cast<const char*>(newline) : end;
    if (!parser.read(at, line_end)) break;
    at = newline ? line_end + 1 : end;
    rows.n_bytes = static_cast<std::size_t>(at - text);
    ++rows.n_lines;
  }
  return rows;
}

template LibsvmRows<float> parse_libsvm(const char*, std::size_t, const LibsvmRules&);
template LibsvmRows<double> parse_libsvm(const char*, std::size_t, const LibsvmRules&);

}  // namespace gcwsnet
