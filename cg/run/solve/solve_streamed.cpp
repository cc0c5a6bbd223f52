// The matrix of a solve on local storage (--out-of-core).

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cg/matrix/files/matrix_file.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/run/streaming/source_matrix.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

std::unique_ptr<SystemMatrix> find_system(const SystemOptions& options, std::int64_t memory_bytes,
                                          comm::RankGroup& group, const Progress& progress,
                                          const MemoryCheck& check_memory) {
  std::unique_ptr<SystemMatrix> matrix;
  if (options.assembles) {
    progress.say(fmt::format("counting the rows of {}", options.operator_text));
    matrix = std::make_unique<SourceMatrix>(options.operator_text, memory_bytes, group, check_memory);
  } else {
    matrix = open_binary_matrix(options.matrix_path, "--out-of-core", group);
  }
  matrix->require_positive_diagonal(group);
  return matrix;
}

/// The bytes of the vectors and of the preconditioner.
std::int64_t SolveRun::vector_bytes(const comm::BlockLayout& layout) const {
  auto plan = plan_memory(*matrix_, configuration(), layout, group_.rank());
  plan.block_bytes = 0;
  plan.working_bytes = 0;
  return bytes_of_rank(matrix_->facts(), plan, layout, group_.rank());
}

std::unique_ptr<BlockProduct> SolveRun::stream(const comm::BlockLayout& layout) {
  if (find_preconditioner(options_.preconditioner)->needs_diagonal)
    diagonal_ = matrix_->diagonal(layout, group_);
  auto product = streaming_->make_product({.source = *matrix_,
                                           .hash = matrix_->content_hash().value(),
                                           .vector_bytes = vector_bytes(layout),
                                           .sums_values = true},
                                          layout);
  const auto& streamed = streaming_->block();
  value_hash_ = sum_of_words(group_, streamed.figures.value_sum);
  report_.matrix->distribute_s = streamed.generation_s;
  report_.matrix->balance = balance_of(group_.gather_one(streamed.figures.nonzero_count));
  return product;
}

}  // namespace cg2d
