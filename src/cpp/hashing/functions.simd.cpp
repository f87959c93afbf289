// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "hashing/dense_entries.simd.hpp"
#include "hashing/encode.simd.hpp"
#include "hashing/extremal.simd.hpp"
#include "hashing/minwise.simd.hpp"
#include "hashing/pairs.simd.hpp"
#include "hashing/pruned_scan.simd.hpp"
#include "hashing/ranks.simd.hpp"
#include "hashing/rejection.simd.hpp"
#include "hashing/row_shape.simd.hpp"
#include "hashing/sorted_scan.simd.hpp"

namespace gcwsnet::GCWSNET_ISA {

extern const HashingFunctions kHashingFunctions;
const HashingFunctions kHashingFunctions = {
    .scaled_logarithms_f32 = scaled_logarithms<float>,
    .scaled_logarithms_f64 = scaled_logarithms<double>,
    .dense_entries_f32 = dense_entries<float>,
    .dense_entries_f64 = dense_entries<double>,
    .fill_table = fill_table,
    .scan_table = scan_table,
    .scan_generated = scan_generated,
    .fill_ranks = fill_ranks,
    .scan_ranks = scan_ranks,
    .scan_pruned_generated = scan_pruned_generated,
    .row_group = kRowGroup,
    .scan_sorted_rows = scan_sorted_rows,
    .scan_sorted_places = scan_sorted_places,
    .sum_of_exp = sum_of_exp,
    .count_above = count_above,
    .take_heavy = take_heavy,
    .interleave_rows = interleave_rows,
    .fill_pairs = fill_pairs,
    .scan_pairs = scan_pairs,
    .scan_tabled_pairs = scan_tabled_pairs,
    .log_heights = log_heights,
    .mark_fallbacks = mark_fallbacks,
    .weights_above_cells = weights_above_cells,
    .lowest_points = lowest_points,
    .min_words = min_words,
    .encode = encode,
};

}  // namespace gcwsnet::GCWSNET_ISA
