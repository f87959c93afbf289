// How the rows of a group are scanned. The choice steers the time and never a sample.
//
// The least a of a row is near -LSE, the logarithm of the sum of exp(L). A sorted scan ends where s passes it by the
// largest L, so at a place that can be predicted. If few features are much larger than the rest, the heavy ones, these
// are scanned one by one first, and the sorted scan ends where s passes by the largest L of the rest.
#pragma once

#include <vector>

#include "hashing/functions.hpp"
#include "hashing/sorted_lists.hpp"

namespace gcwsnet {

// Whether rows have enough entries for another scan than the full one to be quicker.
bool plan_pays_off(std::size_t n_entries, std::size_t n_rows);

// Whether 0/1 rows are hashed sooner by the ranks of all their features than in another way.
bool ranks_pay(std::size_t ones_per_row, std::size_t n_slots);

// Added to the largest L, for the rounding of a (see kSlack).
float slack(float largest_L);

struct Plan {
  enum class Scan { kFull, kSorted } scan = Scan::kFull;
  bool heavy = false;  // scan first what is above log_sum + threshold
  float threshold = 0.0f;

  // Whether entries are scanned one by one: all of them, or the heavy ones.
  bool scans_entries() const { return scan == Scan::kFull || heavy; }
};

struct RowView {
  const float* L;
  std::size_t n;  // of L, zeros included
  std::size_t n_nonzero;
  float largest_L, log_sum;  // minus infinity for a row without entries; the sum is roughly right
};
Plan choose_plan(const std::vector<RowView>& rows, const SortedLists& lists, std::size_t n_features,
                 const HashingFunctions& functions);

}  // namespace gcwsnet
