// The matrix of a solve on local storage (--out-of-core).

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/files/matrix_file.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/streaming/source_matrix.hpp"
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

std::int64_t SolveRun::memory_of_rank() const {
  return report_.environment->memory_of_rank(group_.rank(), options_.memory_limit_bytes);
}

/// The bytes of the vectors and of the preconditioner.
std::int64_t SolveRun::vector_bytes(const comm::BlockLayout& layout) const {
  auto plan = plan_memory(*matrix_, configuration(), layout, group_.rank());
  plan.block_bytes = 0;
  plan.working_bytes = 0;
  return bytes_of_rank(matrix_->facts(), plan, layout, group_.rank());
}

std::unique_ptr<BlockProduct> SolveRun::stream(const comm::BlockLayout& layout) {
  const auto& choice = report_.kernel_choice;
  auto& result = *report_.matrix;
  if (find_preconditioner(options_.preconditioner)->needs_diagonal)
    diagonal_ = matrix_->diagonal(layout, group_);
  const auto environment = granted_environment();
  const NodeShare share{.beside_bytes = environment.process_bytes + vector_bytes(layout),
                        .node_rank_count = environment.node_of(group_.rank()).rank_count};
  streamed_ = make_streamed_block({.source = *matrix_,
                                   .matrix_hash = matrix_->content_hash().value(),
                                   .layout = layout,
                                   .kernel = choice,
                                   .options = options_.out_of_core,
                                   .memory_bytes = memory_of_rank() - vector_bytes(layout),
                                   .sums_values = true,
                                   .share = share,
                                   .room = environment.node_of(group_.rank()).memory,
                                   .storages = report_.profile.storages},
                                  group_, progress_);
  const auto& figures = streamed_.figures;
  value_hash_ = sum_of_words(group_, figures.value_sum);
  result.distribute_s = streamed_.generation_s;
  result.balance = balance_of(group_.gather_one(figures.nonzero_count));
  mine_.nonzero_count = figures.nonzero_count;
  mine_.row_lengths = figures.row_lengths;
  streamed_kernel_ = streamed_.kernel.get();
  mine_.block_bytes = streamed_kernel_->matrix_byte_count();
  const auto columns = layout.column_block(layout.grid().column_of(group_.rank()));
  return std::make_unique<BlockProduct>(*choice.kernel, std::move(streamed_.kernel), columns.size(),
                                        choice.vector_count);
}

/// Where the storage failed, numbers are NaN for that reason: throws it, alike on every rank.
void SolveRun::note_stream() {
  if (!is_streamed()) return;
  agree_on(group_, [&] {
    if (streamed_kernel_->failure()) throw RunError(*streamed_kernel_->failure());
  });
  report_.out_of_core =
      facts_of(streamed_, *streamed_kernel_, options_.out_of_core, options_.memory_limit_bytes, group_);
}

}  // namespace cg2d
