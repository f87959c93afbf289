// The functions of hashing that are compiled once per instruction set, and the plain structures they take. No inline
// functions here: see base/simd.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/key.hpp"

namespace gcwsnet {

inline constexpr int kHashBlock = 16;             // hashes are worked on sixteen at a time
inline constexpr int kTableRow = 4 * kHashBlock;  // 1/r, beta, offset and r of one feature for a block of hashes

// The four keys of each hash of a block.
struct HashKeys {
  std::uint32_t low[4][kHashBlock], high[4][kHashBlock];
};

// The non-zero entries of one row, features ascending. `key` is only there where parameters are generated.
struct Entries {
  const std::uint32_t* feature;
  const float* L;
  const Key* key;
  std::size_t n;
};

// Where the samples of one row and one block of hashes are: the least a so far, its t and its feature i.
struct Samples {
  float* a;
  float* t;
  std::uint32_t* i;
};

// The ranks of all features in 0/1 rows, [feature >> shift][word of hashes], see ranks.simd.hpp. `width` is in bytes.
inline constexpr int kRankWord = 64, kRankWordBytes = kRankWord / 2;
struct RankTable {
  const std::uint8_t* ranks;
  std::size_t n_hashes, width;
  int shift;
};

// Room for pairs of an entry and a hash, for which the entry shares the least rank with others.
struct Ties {
  std::uint32_t* entry;
  std::uint32_t* hash;
  std::size_t capacity;
};

// Memory for scan_pruned_generated, one for each thread. What is in it before does not matter.
struct PrunedWorkspace {
  static constexpr std::size_t kEntries = 1024;  // worked on at a time
  std::uint32_t low[kEntries];
  float factor[kEntries];
  float score[kEntries * kHashBlock];
  std::uint16_t places[kEntries * kHashBlock + kHashBlock];  // in `score`
};

// a is computed in float32 and may lie below s - L, by less than half of kSlack (|L| + kSlackOffset). Whatever leaves
// features out by that bound allows for it.
inline constexpr float kSlack = 0x1p-20f, kSlackOffset = 64.0f;

// Features in ascending order of s = ln c - r, a list for each hash of a block. Sixteen places of a list stand
// together, in a chunk [s, 1/r, beta, offset, r, slot][place], so that a scan reads one line of memory after the other,
// whether it takes place by place or many at once. The first chunks of all hashes come first, then the second ones, and
// so on. Places behind the last one have an infinite offset and so never win. Another chunk can be read behind the
// last.
struct SortedFeatures {
  const float* chunks;
  std::size_t length;
  bool all;  // else the lists end before the features do
};
inline constexpr int kListFields = 6, kListChunk = 16;
inline constexpr int kChunkSize = kListFields * kListChunk, kNextChunk = kHashBlock * kChunkSize;
inline constexpr int kPrefetch = 8;

// Rows side by side, L[slot][row], minus infinity where a row has no such feature. slot = feature >> shift: with a
// shift of 1 there are no negative parts. As many rows as the instruction set takes at once,
// HashingFunctions::row_group, or one.
struct RowsByFeature {
  const float* L;
  int shift;
  bool far;            // L is too large for the nearest caches
  const float* limit;  // per row: the largest L among the features still to come, and the slack of its rounding
};
inline constexpr int kMaxRowGroup = 32;

// What is known of a row when it has been read.
struct RowSummary {
  std::size_t n;    // non-zero entries
  float largest_L;  // minus infinity for a row without entries
  bool negative;    // whether it may have negative entries
};

// The entries of a row that are much larger than the rest, see scan_plan.hpp.
struct HeavyPart {
  std::size_t n;
  float largest_of_rest;  // L
};

// Pairs of a feature, by its key, and a hash, by its number. Arrays are filled up to a multiple of kHashBlock.
struct Pairs {
  const std::uint32_t* low;
  const std::uint32_t* high;
  const std::uint32_t* hash;
  std::size_t n;
};

// The parameters of each feature for one hash.
struct PairTable {
  float* inverse_r;
  float* beta;
  float* offset;
  float* r;
};

// What extremal sampling needs of some entries of a row, features ascending.
struct PointEntries {
  static constexpr std::size_t kMax = 1024;
  std::size_t n;
  std::uint32_t feature[kMax];
  std::uint32_t folded_low[kMax], high[kMax];  // of the key of the feature
  std::uint32_t lag[kMax];                     // how many cells below the highest one of the row
  float above[kMax];                           // w - 1, the weight above the lower end of the cell
};

// The keys of the points in the cells that matter for a row: cell number d is d below the highest one.
inline constexpr int kMaxLag = 4, kLowerCells = 2, kMaxCells = kMaxLag + kLowerCells + 1, kMaxSteps = 64;
struct CellKeys {
  Key step[kMaxCells][kMaxSteps];
  float number[kMaxCells];  // of the first point
};

struct Encoding {
  bool mixed = true;     // else the paper's low bits of i*
  bool all_of_t = true;  // mix t* in too
  int bits = 8;          // 1 to 32
  int t_bits = 0;        // bits of t* appended, 0 to 8
  std::uint32_t n_columns = 0;
};

// The i* of a row without non-zero entries. Its t* is NaN, which no other row has.
inline constexpr std::uint32_t kNoFeature = 0xffffffffu;

struct HashingFunctions {
  // logarithm.simd.hpp
  bool (*scaled_logarithms_f32)(const float* x, std::size_t n, float p, bool nan_is_zero, float* L);
  bool (*scaled_logarithms_f64)(const double* x, std::size_t n, float p, bool nan_is_zero, float* L);
  // dense_entries.simd.hpp
  bool (*dense_entries_f32)(const float* x, std::size_t n, float p, bool nan_is_zero, std::uint32_t* feature, float* L,
                            RowSummary& row);
  bool (*dense_entries_f64)(const double* x, std::size_t n, float p, bool nan_is_zero, std::uint32_t* feature, float* L,
                            RowSummary& row);
  // parameters.simd.hpp
  void (*fill_table)(const Key* features, std::size_t n, const HashKeys& hashes, float* table);
  // full_scan.simd.hpp
  void (*scan_table)(const Entries& row, const float* table, bool far, const Samples& samples);
  void (*scan_generated)(const Entries& row, const HashKeys& hashes, const Samples& samples);
  // ranks.simd.hpp
  void (*fill_ranks)(const Key* features, std::size_t n, const HashKeys* hashes, std::size_t n_blocks,
                     std::uint8_t* ranks, std::size_t width);
  std::size_t (*scan_ranks)(const Entries& row, const RankTable& table, std::size_t n_ahead, std::uint32_t* entries,
                            const Ties& ties);
  // pruned_scan.simd.hpp
  void (*scan_pruned_generated)(const Entries& row, const HashKeys* hashes, std::size_t n_blocks, PrunedWorkspace& work,
                                const Samples& samples);
  // sorted_scan.simd.hpp
  int row_group;  // rows that scan_sorted_rows takes at once
  std::uint32_t (*scan_sorted_rows)(const SortedFeatures& list, const RowsByFeature& rows, bool go_on,
                                    const Samples& samples, std::size_t stride);
  std::uint32_t (*scan_sorted_places)(const SortedFeatures& list, const RowsByFeature& row, const Samples& samples);
  // row_shape.simd.hpp
  float (*sum_of_exp)(const float* L, std::size_t n, float largest_L);
  void (*count_above)(const float* L, std::size_t n, const float* thresholds, float* counts);
  HeavyPart (*take_heavy)(const Entries& row, float threshold, std::uint32_t* feature, float* L);
  void (*interleave_rows)(const Entries* rows, std::size_t n_columns, int shift, float* to);
  // pairs.simd.hpp
  void (*fill_pairs)(const Pairs& pairs, const HashKeys* hashes, const PairTable& table);
  void (*scan_pairs)(const Pairs& pairs, const float* L, const HashKeys* hashes, std::uint32_t* order, float* t);
  void (*scan_tabled_pairs)(const Entries& row, const PairTable& table, std::uint32_t* order, float* t);
  // rejection.simd.hpp
  void (*log_heights)(const std::uint32_t* words, float* log_height);
  void (*mark_fallbacks)(float* t);
  // extremal.simd.hpp
  void (*weights_above_cells)(const float* L, std::size_t n, float* above);
  void (*lowest_points)(const PointEntries& row, const CellKeys& cells, std::uint32_t max_lag, const HashKeys& hashes,
                        const Samples& samples);
  // minwise.simd.hpp
  void (*min_words)(const Entries& row, const HashKeys& hashes, std::int32_t* least, std::uint32_t* feature);
  // encode.simd.hpp
  void (*encode)(const Encoding& how, const std::uint32_t* i_star, const float* t_star, const std::uint32_t* salt_low,
                 const std::uint32_t* salt_high, std::uint32_t* high, std::uint32_t* low);
};

}  // namespace gcwsnet
