// The functions that exist once per instruction set, and the choice among them.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "layer/matrix_rows.hpp"
#include "layer/row_picks.hpp"

namespace gcwsnet {

struct InstructionSet {
  const char* name;
  int row_group;  // rows that scan_sorted_rows takes at once
  // logarithm.hpp
  bool (*scaled_logarithms_f32)(const float* x, std::size_t n, float p, bool nan_is_zero, float* L);
  bool (*scaled_logarithms_f64)(const double* x, std::size_t n, float p, bool nan_is_zero, float* L);
  // dense_entries.hpp
  bool (*dense_entries_f32)(const float* x, std::size_t n, float p, bool nan_is_zero, std::uint32_t* feature, float* L,
                            RowSummary& row);
  bool (*dense_entries_f64)(const double* x, std::size_t n, float p, bool nan_is_zero, std::uint32_t* feature, float* L,
                            RowSummary& row);
  // parameters.hpp
  void (*fill_table)(const Key* features, std::size_t n, const HashKeys& hashes, float* table);
  // scan.hpp
  void (*scan_table)(const Entries& row, const float* table, bool far, const Samples& samples);
  void (*scan_generated)(const Entries& row, const HashKeys& hashes, const Samples& samples);
  // ranks.hpp
  void (*fill_ranks)(const Key* features, std::size_t n, const HashKeys* hashes, std::size_t n_blocks, std::uint8_t* ranks,
                     std::size_t width);
  std::size_t (*scan_ranks)(const Entries& row, const RankTable& table, std::size_t n_ahead, std::uint32_t* entries,
                            const Rivals& rivals);
  // pruned_generated.hpp
  void (*scan_pruned_generated)(const Entries& row, const HashKeys* hashes, std::size_t n_blocks, PrunedWorkspace& work,
                                const Samples& samples);
  // sorted_scan.hpp
  std::uint32_t (*scan_sorted_rows)(const SortedFeatures& list, const RowsByFeature& rows, bool go_on,
                                    const Samples& samples, std::size_t stride);
  std::uint32_t (*scan_sorted_places)(const SortedFeatures& list, const RowsByFeature& row, const Samples& samples);
  // shape.hpp
  float (*sum_of_exp)(const float* L, std::size_t n, float largest_L);
  void (*count_above)(const float* L, std::size_t n, const float* thresholds, float* counts);
  HeavyPart (*take_heavy)(const Entries& row, float threshold, std::uint32_t* feature, float* L);
  void (*side_by_side)(const Entries* rows, std::size_t n_columns, int shift, float* to);
  // trials.hpp
  void (*log_heights)(const std::uint32_t* words, float* log_height);
  void (*mark_fallen_back)(float* t);
  // pairs.hpp
  void (*fill_pairs)(const Pairs& pairs, const HashKeys* hashes, const PairTable& table);
  void (*scan_pairs)(const Pairs& pairs, const float* L, const HashKeys* hashes, std::uint32_t* order, float* t);
  void (*scan_tabled_pairs)(const Entries& row, const PairTable& table, std::uint32_t* order, float* t);
  // points.hpp
  void (*weights_above_cells)(const float* L, std::size_t n, float* above);
  void (*lowest_points)(const PointEntries& row, const CellKeys& cells, std::uint32_t most_lag, const HashKeys& hashes,
                        const Samples& samples);
  // least_words.hpp
  void (*least_words)(const Entries& row, const HashKeys& hashes, std::int32_t* least, std::uint32_t* feature);
  // encode.hpp
  void (*encode)(const Encoding& how, const std::uint32_t* i_star, const float* t_star, const std::uint32_t* salt_low,
                 const std::uint32_t* salt_high, std::uint32_t* high, std::uint32_t* low);
  // minima.hpp, for rows of any sign and for rows without negative entries
  void (*minima_signed)(const double* const* a, int n_a, const double* const* b, int n_b, const double (*factor)[4],
                        std::size_t n, double (*sums)[4]);
  void (*minima_positive)(const double* const* a, int n_a, const double* const* b, int n_b, const double (*factor)[4],
                          std::size_t n, double (*sums)[4]);
  // pair_sums.hpp
  void (*pair_sums_f32)(const float* a, const float* b, std::size_t n, double factor, double* sums);
  void (*pair_sums_f64)(const double* a, const double* b, std::size_t n, double factor, double* sums);
  // row_sums.hpp
  void (*add_rows)(const float* rows, std::size_t width, const Picks& picks, std::size_t ahead, std::size_t n_known,
                   float* sum);
  void (*adam_row)(const AdamStep& step, const float* gradient, std::size_t width, const Picks& picks, float* work,
                   const AdamRow& row);
  void (*prefetch_adam_row)(const AdamRow& row, std::size_t width);
  // dense_rows.hpp
  void (*inner_products)(const MatrixRows& x, const MatrixRows& y, std::size_t width, const float* bias, float* out,
                         std::size_t out_stride);
  void (*sum_of_multiples)(const MatrixRows& rows, const float* factors, std::size_t factor_stride, std::size_t width,
                           float* sum);
  void (*rectify)(float* numbers, std::size_t n);
  void (*rectify_gradient)(const float* outputs, std::size_t n, float* gradient);
  void (*add_multiple)(const float* row, float factor, std::size_t n, float* sum);
  void (*move_towards)(const float* now, float share, std::size_t n, float* mean);
  void (*mean_of_sums)(const float* older, const float* newer, const float* now, float rows, float total, std::size_t n,
                       float* mean);
  // equal_codes.hpp
  void (*equal_codes)(const void* query, const void* rows, std::size_t n_rows, std::size_t n_hashes, int code_bits,
                      std::uint32_t* counts);
};

// Those this processor can run, best first. "baseline" is always there.
std::vector<const InstructionSet*> available_instruction_sets();

// Called once, when the module is loaded: chooses the best one, or the one that the environment variable GCWSNET_ISA names.
// Later another thread may be changing the environment.
void choose_instruction_set_by_environment();

// Chooses another one, for tests and benchmarks. Throws std::invalid_argument if this processor has none of that name.
void use_instruction_set(const std::string& name);

// The one in use. Throws std::invalid_argument if the environment named none that this processor has.
const InstructionSet& chosen_instruction_set();

}  // namespace gcwsnet
