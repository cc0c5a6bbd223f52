#pragma once

// What the loops over CSR rows (csr_row_loops-inl.hpp) take.

#include <cstdint>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// Rows whose entries lie one after the other; lengths[row] is the number of entries of a row.
template <typename Lengths, typename Column>
struct CsrRows {
  Lengths lengths;
  const Column* columns;
  const double* values;
  int64_t row_count;
  bool are_added;  // adds the products to q instead of overwriting it
};

/// The lengths of rows, from the positions at which they start.
struct RowLengths {
  const int64_t* starts;
  int64_t operator[](int64_t row) const { return starts[row + 1] - starts[row]; }
};

struct CsrLoopConfig {
  int64_t critical_vector_length;  // shorter rows take the scalar loop
  int64_t prefetch_distance;       // in entries
};

/// p: the element of column 0; q: one element per row.
template <typename Lengths, typename Column>
using CsrRowsLoop = void (*)(const CsrRows<Lengths, Column>& rows, const CsrLoopConfig& settings,
                             const double* p, double* q);

/// The sets with a loop here that this processor has: all of this processor's.
inline std::vector<InstructionSet> csr_instruction_sets() { return of_this_processor(all_instruction_sets); }

/// The settings that were asked for, else the defaults, which have both.
inline CsrLoopConfig csr_loop_config(const Tuning& tuning, const Tuning& defaults) {
  return {.critical_vector_length = tuning.critical_vector_length.value_or(*defaults.critical_vector_length),
          .prefetch_distance = tuning.prefetch_distance.value_or(*defaults.prefetch_distance)};
}

}  // namespace cg2d::kernels
