// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "base/dense_entries.hpp"
#include "base/instruction_set.hpp"
#include "gcws/pruned_generated.hpp"
#include "gcws/ranks.hpp"
#include "gcws/shape.hpp"
#include "gcws/sorted_scan.hpp"
#include "kernels/minima.hpp"
#include "kernels/pair_sums.hpp"
#include "layer/dense_rows.hpp"
#include "layer/row_sums.hpp"
#include "samplers/encode.hpp"
#include "samplers/least_words.hpp"
#include "samplers/pairs.hpp"
#include "samplers/points.hpp"
#include "samplers/trials.hpp"
#include "search/equal_codes.hpp"

#define GCWSNET_TEXT_OF(name) #name
#define GCWSNET_TEXT(name) GCWSNET_TEXT_OF(name)

namespace gcwsnet {
namespace GCWSNET_ISA {

extern const InstructionSet kFunctions;
const InstructionSet kFunctions = {
    GCWSNET_TEXT(GCWSNET_ISA),
    kRowGroup,
    scaled_logarithms<float>,
    scaled_logarithms<double>,
    dense_entries<float>,
    dense_entries<double>,
    fill_table,
    scan_table,
    scan_generated,
    fill_ranks,
    scan_ranks,
    scan_pruned_generated,
    scan_sorted_rows,
    scan_sorted_places,
    sum_of_exp,
    count_above,
    take_heavy,
    side_by_side,
    log_heights,
    mark_fallen_back,
    fill_pairs,
    scan_pairs,
    scan_tabled_pairs,
    weights_above_cells,
    lowest_points,
    least_words,
    encode,
    minima<true>,
    minima<false>,
    pair_sums<float>,
    pair_sums<double>,
    add_rows,
    adam_row,
    prefetch_adam_row,
    inner_products,
    sum_of_multiples,
    rectify,
    rectify_gradient,
    add_multiple,
    move_towards,
    mean_of_sums,
    equal_codes,
};

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
