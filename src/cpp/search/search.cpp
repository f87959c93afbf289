#include "search/search.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "dispatch.hpp"
#include "search/functions.hpp"

namespace gcwsnet {

namespace {

// The best ranks of one query so far: a heap with the worst of them in front once there are as many as asked for.
class BestRanks {
 public:
  void start(std::size_t most, std::uint32_t least) {
    most_ = most;
    floor_ = most == 0 ? std::numeric_limits<std::uint32_t>::max() - 1 : least;  // one above it is still a number
  }

  // Rows behind all that were offered need not be offered if they agree on fewer hashes: of equal ones the first is
  // better.
  std::uint32_t floor_of_later_rows() const { return ranks_.size() < most_ ? floor_ : floor_ + 1; }

  void offer(std::uint32_t count, std::uint32_t row) {
    offer(static_cast<Rank>(count) << 32 | static_cast<std::uint32_t>(~row));
  }
  void offer(Rank rank) {
    if (rank >> 32 < floor_) return;
    if (ranks_.size() < most_) {
      ranks_.push_back(rank);
      if (ranks_.size() < most_) return;
      std::make_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    } else if (rank > ranks_.front()) {
      std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
      ranks_.back() = rank;
      std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    } else {
      return;
    }
    floor_ = static_cast<std::uint32_t>(ranks_.front() >> 32);
  }

  std::vector<Rank>& ranks() { return ranks_; }

 private:
  std::size_t most_ = 0;
  std::uint32_t floor_ = 0;
  std::vector<Rank> ranks_;
};

SearchResult best_first(std::vector<BestRanks>& best) {
  SearchResult found;
  found.start.push_back(0);
  for (BestRanks& one : best) {
    std::sort(one.ranks().begin(), one.ranks().end(), std::greater<>());
    found.ranks.insert(found.ranks.end(), one.ranks().begin(), one.ranks().end());
    found.start.push_back(static_cast<std::int64_t>(found.ranks.size()));
    std::vector<Rank>().swap(one.ranks());
  }
  return found;
}

// How many of the rows a query may find, counted from the first one.
std::size_t rows_before(const SearchedRows& rows, const SearchOptions& options, std::size_t query) {
  if (options.before < 0) return rows.codes.n_rows;
  const std::int64_t n = options.before + static_cast<std::int64_t>(query) - static_cast<std::int64_t>(rows.first);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, static_cast<std::int64_t>(rows.codes.n_rows)));
}

constexpr std::size_t kGroup = 16;

// Whether one of at most kGroup counts is at least `least`: for most groups of rows it is not.
bool reaches(const std::uint32_t* counts, std::size_t n, std::uint32_t least) {
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < n; ++i) any |= counts[i] >= least;
  return any != 0;
}

}  // namespace

SearchResult scan(const PackedCodes& queries, const SearchedRows& rows, const SearchOptions& options, int n_threads,
                  StopToken& stop_token) {
  const SearchFunctions& functions = chosen_instruction_set().search;
  constexpr std::size_t kQueries = 32, kTileBytes = 16384, kMaxTile = 256, kRowsOfAPart = 8192;
  const std::size_t n = rows.codes.n_rows, m = queries.n_rows;
  const std::size_t tile = std::clamp<std::size_t>(kTileBytes / rows.codes.row_bytes(), 1, kMaxTile);
  // Rows are divided too where there are too few queries for all threads.
  const std::size_t n_blocks = blocks_of(m, kQueries), threads = static_cast<std::size_t>(std::max(n_threads, 1));
  const std::size_t max_parts = std::max<std::size_t>(1, n / kRowsOfAPart);
  const std::size_t n_parts =
      n_blocks >= threads ? 1 : std::min(max_parts, 2 * threads / std::max<std::size_t>(n_blocks, 1));
  const std::size_t part_rows = blocks_of(n, n_parts);

  std::vector<BestRanks> best(m * n_parts);  // [query][part]
  for_each_block(n_blocks * n_parts, n_threads, stop_token, [&] {
    return [&](std::size_t block) {
      const std::size_t part = block % n_parts, q0 = block / n_parts * kQueries, q1 = std::min(q0 + kQueries, m);
      for (std::size_t q = q0; q < q1; ++q) best[q * n_parts + part].start(options.max_results, options.min_equal[q]);
      const std::size_t begin = part * part_rows;
      const std::size_t end = q1 > q0 ? std::min(begin + part_rows, rows_before(rows, options, q1 - 1)) : 0;
      std::uint32_t counts[kMaxTile];
      for (std::size_t r0 = begin; r0 < end; r0 += tile) {
        stop_token.poll();
        for (std::size_t q = q0; q < q1; ++q) {
          const std::size_t r1 = std::min({r0 + tile, end, rows_before(rows, options, q)});
          if (r1 <= r0) continue;
          functions.equal_codes(queries.row(q), rows.codes.row(r0), r1 - r0, queries.n_hashes, queries.code_bits,
                                counts);
          BestRanks& keep = best[q * n_parts + part];
          for (std::size_t r = r0; r < r1; r += kGroup) {
            const std::size_t n_here = std::min(kGroup, r1 - r);
            if (!reaches(counts + (r - r0), n_here, keep.floor_of_later_rows())) continue;
            for (std::size_t i = r; i < r + n_here; ++i) {
              if (rows.live && !rows.live[i]) continue;
              keep.offer(counts[i - r0], rows.first + static_cast<std::uint32_t>(i));
            }
          }
        }
      }
    };
  });
  if (n_parts == 1) return best_first(best);
  std::vector<BestRanks> merged(m);
  for (std::size_t q = 0; q < m; ++q) {
    merged[q].start(options.max_results, options.min_equal[q]);
    for (std::size_t part = 0; part < n_parts; ++part) {
      for (const Rank rank : best[q * n_parts + part].ranks()) merged[q].offer(rank);
    }
  }
  return best_first(merged);
}

SearchResult search_buckets(const PackedCodes& queries, const SearchedRows& rows, const Buckets& buckets,
                            const SearchOptions& options, int n_threads, StopToken& stop_token) {
  const SearchFunctions& functions = chosen_instruction_set().search;
  constexpr std::size_t kQueries = 64, kAhead = 8, kLine = 64;
  const std::size_t n = rows.codes.n_rows, m = queries.n_rows;
  std::vector<BestRanks> best(m);
  for_each_block(n == 0 ? 0 : blocks_of(m, kQueries), n_threads, stop_token, [&] {
    struct Buffers {
      std::vector<std::uint64_t> seen;  // a bit for each row
      std::vector<std::uint32_t> met[kQueries], candidates;
    };
    return [&, b = Buffers{std::vector<std::uint64_t>(n / 64 + 1), {}, {}}](std::size_t block) mutable {
      const std::size_t q0 = block * kQueries, n_here = std::min(kQueries, m - q0);
      for (std::size_t q = 0; q < n_here; ++q) b.met[q].clear();
      // A band at a time for all queries, so that what the next ones need is on its way.
      for (std::size_t band = 0; band < buckets.n_bands; ++band) {
        stop_token.poll();
        const std::uint32_t *keys = buckets.keys + band * n, *numbers = buckets.rows + band * n;
        std::uint32_t key[kQueries];
        std::size_t place[kQueries];
        std::pair<std::size_t, std::size_t> bucket[kQueries];
        for (std::size_t q = 0; q < n_here; ++q) {
          key[q] = band_key(queries.row(q0 + q), queries.code_bits, band, buckets.width);
          place[q] = expected_place(key[q], n);
          __builtin_prefetch(keys + place[q]);
        }
        for (std::size_t q = 0; q < n_here; ++q) {
          place[q] = nearer_place(keys, n, key[q], place[q]);
          __builtin_prefetch(keys + place[q]);
        }
        for (std::size_t q = 0; q < n_here; ++q) {
          bucket[q] = bucket_of(keys, n, key[q], place[q]);
          __builtin_prefetch(numbers + bucket[q].first);
        }
        for (std::size_t q = 0; q < n_here; ++q) {
          b.met[q].insert(b.met[q].end(), numbers + bucket[q].first, numbers + bucket[q].second);
        }
      }
      for (std::size_t q = 0; q < n_here; ++q) {
        stop_token.poll();
        const std::size_t n_before = rows_before(rows, options, q0 + q);
        b.candidates.clear();
        for (const std::uint32_t row : b.met[q]) {
          if (row >= n) throw std::invalid_argument("a bucket names a row that is not there: the index is damaged");
          const std::uint64_t bit = std::uint64_t{1} << (row % 64);
          if (row >= n_before || (b.seen[row / 64] & bit) || (rows.live && !rows.live[row])) continue;
          b.seen[row / 64] |= bit;
          b.candidates.push_back(row);
        }
        BestRanks& keep = best[q0 + q];
        keep.start(options.max_results, options.min_equal[q0 + q]);
        const auto prefetch = [&](std::size_t c) {
          if (c >= b.candidates.size()) return;
          const unsigned char* next = rows.codes.row(b.candidates[c]);
          for (std::size_t byte = 0; byte < rows.codes.row_bytes(); byte += kLine) __builtin_prefetch(next + byte);
        };
        for (std::size_t c = 0; c < kAhead; ++c) prefetch(c);
        for (std::size_t c = 0; c < b.candidates.size(); ++c) {
          prefetch(c + kAhead);
          const std::uint32_t row = b.candidates[c];
          std::uint32_t count;
          functions.equal_codes(queries.row(q0 + q), rows.codes.row(row), 1, queries.n_hashes, queries.code_bits,
                                &count);
          keep.offer(count, rows.first + row);
          b.seen[row / 64] = 0;
        }
      }
    };
  });
  return best_first(best);
}

}  // namespace gcwsnet
