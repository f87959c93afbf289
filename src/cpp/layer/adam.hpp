// Adam on all weights of a parameter. On the rows of a table that occurred it is done with their sums: picks_by_row.hpp.
#pragma once

#include "layer/row_picks.hpp"

namespace gcwsnet {

// One step on n weights, of which `row` is the first, with their gradient. How many threads there are changes no bit.
void adam(const AdamStep& step, const float* gradient, std::size_t n, const AdamRow& row, int n_threads);

}  // namespace gcwsnet
