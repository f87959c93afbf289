// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "encode.hpp"
#include "instruction_set.hpp"
#include "minima.hpp"
#include "pairs.hpp"
#include "points.hpp"
#include "pruned_generated.hpp"
#include "ranks.hpp"
#include "row_sums.hpp"
#include "shape.hpp"
#include "sorted_scan.hpp"
#include "trials.hpp"

#define GCWSNET_TEXT_OF(name) #name
#define GCWSNET_TEXT(name) GCWSNET_TEXT_OF(name)

namespace gcwsnet {
namespace GCWSNET_ISA {

extern const InstructionSet kFunctions;
const InstructionSet kFunctions = {
    GCWSNET_TEXT(GCWSNET_ISA),
    scaled_logarithms<float>,
    scaled_logarithms<double>,
    fill_table,
    scan_table,
    scan_generated,
    fill_ranks,
    scan_ranks,
    scan_pruned_generated,
    scan_sorted_rows,
    scan_sorted_hashes,
    shape_of,
    take_heavy,
    side_by_side,
    log_heights,
    mark_fallen_back,
    fill_pairs,
    scan_pairs,
    scan_tabled_pairs,
    rooms,
    lowest_points,
    encode,
    minima<true>,
    minima<false>,
    add_rows,
    adam_row,
    prefetch_adam_row,
};

}  // namespace GCWSNET_ISA
}  // namespace gcwsnet
