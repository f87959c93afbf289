// The rows whose codes agree most with those of a query: of all rows, or of those that share a bucket with it.
#pragma once

#include <vector>

#include "search/bands.hpp"

namespace gcwsnet {

// A row that was found: the hashes on which it agrees with the query in the upper half, and the complement of its
// number in the lower one. The greater is the better, no two are equal, and so the order in which rows are looked at
// does not matter.
using Rank = std::uint64_t;

struct SearchedRows {
  PackedCodes codes;
  const std::uint8_t* live;  // 0 for a row that is to be left out; nullptr if all are there
  std::uint32_t first;       // the number of the first row
};

struct SearchOptions {
  std::size_t max_results;         // of each query, the best ones
  const std::uint32_t* min_equal;  // of each query: on how many hashes a row must agree with it
  std::int64_t before;             // only rows whose numbers are below `before` plus that of the query; -1: all
};

// The ranks of each query, best first: those of query q are ranks[start[q]] ... ranks[start[q + 1] - 1].
struct SearchResult {
  std::vector<std::int64_t> start;
  std::vector<Rank> ranks;
};

SearchResult scan(const PackedCodes& queries, const SearchedRows& rows, const SearchOptions& options, int n_threads,
                  StopToken& stop_token);

SearchResult search_buckets(const PackedCodes& queries, const SearchedRows& rows, const Buckets& buckets,
                            const SearchOptions& options, int n_threads, StopToken& stop_token);

}  // namespace gcwsnet
