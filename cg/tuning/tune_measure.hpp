#pragma once

// The measurements of `cg2d tune`. All ranks measure at the same time, as they compute in a run, and a time
// is that of the slowest rank. Candidates run in turns, so that a change of the machine hits all alike.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/random_stream.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Numbers in (0.5, 1.5), the same in every run.
inline std::vector<double> operand_of(std::int64_t size) {
  RandomStream stream;
  std::vector<double> p(static_cast<std::size_t>(size));
  for (double& value : p) value = 0.5 + RandomStream::number(stream.next());
  return p;
}

/// The block is as the kernel stores it.
class LocalProduct {
 public:
  LocalProduct(const kernels::KernelRow& kernel, kernels::CsrBlock block, int thread_count,
               const kernels::Tuning& tuning)
      : p_columns_(operand_of(block.column_count)),
        p_rows_(operand_of(kernel.stores_half() ? block.row_count : 0)),
        q_rows_(static_cast<std::size_t>(block.row_count)),
        q_columns_(static_cast<std::size_t>(kernel.stores_half() ? block.column_count : 0)),
        kernel_(kernel.make(std::move(block), {.thread_count = thread_count, .tuning = tuning})) {}

  void multiply() {
    kernel_->multiply(
        {.p_columns = p_columns_, .p_rows = p_rows_, .q_rows = q_rows_, .q_columns = q_columns_});
  }

 private:
  std::vector<double> p_columns_;
  std::vector<double> p_rows_;
  std::vector<double> q_rows_;
  std::vector<double> q_columns_;
  std::unique_ptr<kernels::SpmvKernel> kernel_;
};

/// A block whose rows have row_length entries each, in columns spread evenly over the block, at random within
/// their share.
kernels::CsrBlock constant_rows_block(std::int64_t row_length, std::int64_t row_count,
                                      std::int64_t column_count);

/// The curve of ns per nonzero over row length. Collective.
struct RowLengthCurve {
  std::vector<RowLengthPoint> points;
  double spread = 0.0;  ///< see MeasurementQuality
};
RowLengthCurve measure_row_lengths(comm::RankGroup& group, int thread_count);

/// The curve of one kernel, by the length of the whole rows, even where half of them is stored. Collective.
/// Throws RunError, std::bad_alloc.
std::vector<RowLengthCost> measure_row_lengths_of(comm::RankGroup& group, const kernels::KernelRow& kernel,
                                                  const kernels::Tuning& tuning, int thread_count);

/// Memory of a rank for either curve, bytes, beside its process.
std::int64_t row_length_bytes();

/// The solver that a case is measured in.
struct CaseConfig {
  const Configuration& configuration;  ///< grid and transport must be known; the kernel is each one's own
  double shift = 0.0;                  ///< shift of the outer iterations, whose zeta is compared
  int critical_vector_length = 0;      ///< the search for a kernel's own one begins there
};

/// A case with the spread of its CG steps.
struct CaseResult {
  TunedCase tuned;
  double spread = 0.0;
};

/// The stages of measure_case(), by the texts that `say` gets, with the seconds that they take on a common machine.
std::vector<Work> works_of_case(const MatrixSource& source, const CaseConfig& config);

/// The most memory of a rank in measure_case(), bytes, beside its process. `configuration`: grid and transport must be known.
std::int64_t case_bytes(const MatrixSource& source, Configuration configuration, int rank);

/// All kernels on one matrix and grid: first the settings of each on a sample of the block, then CG steps of
/// all in turns. `say` gets a line per stage. Callers check the memory before. Collective. Throws RunError when the
/// kernels disagree.
CaseResult measure_case(comm::RankGroup& group, const MatrixSource& source, const CaseConfig& config,
                        const std::function<void(const std::string&)>& say);

}  // namespace cg2d
