// Compiled once per instruction set, with GCWSNET_ISA defined as its name and the compiler's flags for it.
#include "net/dense_rows.simd.hpp"
#include "net/packed_rows.simd.hpp"
#include "net/table_rows.simd.hpp"

namespace gcwsnet::GCWSNET_ISA {

extern const NetFunctions kNetFunctions;
const NetFunctions kNetFunctions = {
    .add_rows = add_rows,
    .adam_row = adam_row,
    .prefetch_adam_row = prefetch_adam_row,
    .add_packed_rows = add_packed_rows,
    .inner_products = inner_products,
    .sum_of_multiples = sum_of_multiples,
    .relu = relu,
    .relu_backward = relu_backward,
    .axpy = axpy,
    .update_moving_average = update_moving_average,
    .mean_of_sums = mean_of_sums,
};

}  // namespace gcwsnet::GCWSNET_ISA
