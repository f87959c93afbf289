// The hashed first layer as torch uses it: a table of rows of weights, of which each code of a sample looks up one. The
// output is their sum.
//
// Each sum belongs to one thread and has one order, so the number of threads does not change a bit.
#pragma once

#include "net/lookups.hpp"

namespace gcwsnet {

// Throws std::invalid_argument that names the first code that is not from 0 to 2^bits - 1.
template <class Code>
void check_codes(const CodeMatrix<Code>& codes, int bits);

// out[sample] = bias + the rows that the sample's codes look up, [n_samples][width]. The codes have been checked.
template <class Code>
void sum_rows(const CodeToRow& rows, const CodeMatrix<Code>& codes, const float* table, const float* bias,
              std::size_t width, float* out, int n_threads);

// One step of Adam on n weights, of which `row` is the first, with their gradient.
void adam(const AdamStep& step, const float* gradient, std::size_t n, const AdamRow& row, int n_threads);

}  // namespace gcwsnet
