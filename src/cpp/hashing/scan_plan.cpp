#include "hashing/scan_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gcwsnet {

namespace {

// Cycles for one row and a block of sixteen hashes: an entry of a full scan, an entry of a 0/1 row by its ranks, a
// place of a sorted scan, and what a sorted scan and a heavy part cost besides.
constexpr float kEntry = 9.0f, kFarEntry = 14.0f, kRank = 2.0f, kPlace = 11.0f, kSortedScan = 130.0f,
                kHeavyPart = 130.0f;
constexpr std::size_t kFarFeatures = 3000;  // from here on a block of the table is too large for the near caches

// Where a scan ends beyond the place predicted for the mean row, since a group goes on until its last row is done.
constexpr float kLastRow = 1.1f;

constexpr std::array<std::size_t, 16> kDepths = {1, 3, 6, 10, 16, 24, 36, 54, 80, 120, 200, 300, 450, 700, 1000, 2000};
constexpr std::size_t kShallow = 24;

float entry_cost(std::size_t n_features) { return n_features < kFarFeatures ? kEntry : kFarEntry; }

}  // namespace

bool plan_pays_off(std::size_t n_entries, std::size_t n_rows) {
  return static_cast<float>(n_entries) * kEntry > static_cast<float>(n_rows) * (kSortedScan + 50 * kPlace);
}

// A sorted scan of 0/1 rows meets a feature of the row every n_slots / ones places; sixteen rows wait for the last one.
bool ranks_pay(std::size_t ones_per_row, std::size_t n_slots) {
  const float ones = static_cast<float>(ones_per_row);
  return ones * ones * kRank < ones * kSortedScan + 3.4f * static_cast<float>(n_slots) * kPlace;
}

float slack(float largest_L) {
  return std::isfinite(largest_L) ? kSlack * (std::fabs(largest_L) + kSlackOffset) : 0.0f;
}

Plan choose_plan(const std::vector<RowView>& rows, const SortedLists& lists, std::size_t n_features,
                 const HashingFunctions& functions) {
  const float entry = entry_cost(n_features);
  float gap = 0.0f;  // mean of LSE minus the limit
  float full = 0.0f;
  std::size_t n_rows = 0;
  for (const RowView& row : rows) {
    if (row.n_nonzero == 0) continue;
    gap += row.log_sum - row.largest_L - slack(row.largest_L);
    full += static_cast<float>(row.n_nonzero) * entry;
    ++n_rows;
  }
  if (n_rows == 0) return {};
  gap /= static_cast<float>(n_rows);
  full /= static_cast<float>(n_rows);

  const auto sorted_cost = [](std::size_t depth) { return static_cast<float>(depth + 2) * kPlace + kSortedScan; };
  Plan best;
  float least = full;
  const std::size_t plain = lists.depth(kLastRow - gap);
  if (plain < lists.length() && sorted_cost(plain) < least) {
    least = sorted_cost(plain);
    best = {Plan::Scan::kSorted, false, 0.0f};
    if (plain <= kShallow) return best;
  }
  std::array<float, kDepths.size()> threshold, heavy = {};
  for (std::size_t d = 0; d < kDepths.size(); ++d) {
    threshold[d] =
        kDepths[d] < plain ? lists.mean_s(kDepths[d] - 1) - kLastRow : std::numeric_limits<float>::infinity();
  }
  float n_sampled = 0.0f;
  for (std::size_t r = 0; r < rows.size(); r += 4) {  // a sample: it only steers
    if (rows[r].n_nonzero == 0) continue;
    std::array<float, kDepths.size()> above = threshold;
    for (float& one : above) one += rows[r].log_sum;
    functions.count_above(rows[r].L, rows[r].n, above.data(), heavy.data());
    n_sampled += 1.0f;
  }
  for (std::size_t d = 0; d < kDepths.size() && kDepths[d] < plain && n_sampled > 0.0f; ++d) {
    const float cost = heavy[d] / n_sampled * entry + kHeavyPart + sorted_cost(kDepths[d]);
    if (cost < least) {
      least = cost;
      best = {Plan::Scan::kSorted, true, threshold[d]};
    }
  }
  return best;
}

}  // namespace gcwsnet
