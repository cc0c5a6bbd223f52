#include "cg/run/solve/solve_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/files/generated_matrix.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/preconditioners/diagonal_block.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

BlockOrigin place_of_block(const comm::BlockLayout& layout, int rank) {
  const auto grid = layout.grid();
  return {.first_row = layout.row_block(grid.row_of(rank)).begin,
          .first_column = layout.column_block(grid.column_of(rank)).begin,
          .order = layout.size()};
}

}  // namespace

std::unique_ptr<SystemMatrix> read_system(const SystemOptions& options, comm::RankGroup& group,
                                          const Progress& progress, const MemoryCheck& check_memory) {
  progress.say(fmt::format("{} {}", options.assembles ? "generating" : "reading", options.matrix_text()));
  const Stopwatch stopwatch;
  double said_s = 0.0;
  const auto say = [&](double done) {
    if (stopwatch.seconds() < said_s + 1.0 || done <= 0.0) return;
    said_s = stopwatch.seconds();
    progress.say(
        fmt::format("read {:.0f} %, about {:.0f} s left", 100.0 * done, said_s * (1.0 / done - 1.0)));
  };
  std::optional<std::uint64_t> seed;
  if (options.cut == MatrixCut::random) seed = options.permutation_seed;
  auto matrix =
      options.assembles
          ? generate_matrix(
                {.text = options.operator_text, .permutation_seed = seed, .check_memory = check_memory},
                group)
          : open_matrix({.path = options.matrix_path,
                         .permutation_seed = seed,
                         .symmetrize_tolerance = options.symmetrize_tolerance,
                         .check_memory = check_memory,
                         .progress = say},
                        group);
  matrix->require_symmetric(group);
  matrix->require_positive_diagonal(group);
  return matrix;
}

/// Throws InputError for what sums in an order of its own.
void SolveRun::check_reproducible() const {
  if (!configuration().is_reproducible) return;
  const auto refuse_if = [](bool is_given, const std::string& reason) {
    if (is_given) throw InputError("--reproducible on: " + reason);
  };
  refuse_if(options_.is_matrix_free(), "it needs a matrix: FILE, or --assembled");
  refuse_if(has_several(), "it solves for one right-hand side");
  const auto& classic = cg_variant_table().front().name;
  refuse_if(options_.variant != classic,
            fmt::format("--variant {} has another order of sums; take {}", options_.variant, classic));
  refuse_if(!find_preconditioner(options_.preconditioner)->is_diagonal,
            fmt::format("--preconditioner {} depends on the grid, or sums in its own order; take {}",
                        options_.preconditioner, names_of_diagonal_preconditioners()));
}

void SolveRun::prepare() {
  session_.prepare();
  static_cast<void>(named_grid(options_, group_.size()));
  session_.features().call(&Feature::before_matrix);
}

void SolveRun::perform(OutputFile* solution) {
  count_right_hand_sides();
  agree_on(group_, [&] { check_reproducible(); });
  session_.check_reproducible();
  if (options_.is_matrix_free()) return solve_matrix_free(solution);
  read();
  cut();
  choose();
  const auto layout = make_layout(matrix_->facts(), configuration());
  if (!is_streamed()) check_solve_memory(layout);
  const std::shared_ptr<BlockProduct> product = is_streamed() ? stream(layout) : distribute(layout);
  if (session_.chooses_transport()) choose_transport(layout, product);
  auto assembled = session_.connect(layout, product);
  const auto& communicator = assembled.communicator();
  guard_ = session_.features().first(&Feature::guard_of_solve, layout, assembled);
  solve({.matrix = guard_ != nullptr ? guard_->guarded(assembled) : assembled.matrix(),
         .timer = assembled.timer(),
         .place = place_of(layout, matrix_->permutation(), group_.rank()),
         .sent = [&](comm::Operation operation) { return communicator.sent(operation); },
         .first_row = layout.piece(layout.column_piece_of(group_.rank())).begin * vector_count(),
         .matrix_bytes = read_footprint_bytes(*product, streaming_)},
        solution);
}

/// Everything that is chosen before the matrix is spread.
void SolveRun::choose() {
  const auto with_kernel = [this](const auto& grid) { return kernel_for(grid); };
  session_.take_grid(resolve_grid(options_, matrix_->facts(), configuration(), group_.size()), with_kernel);
  session_.check_choices();
  session_.begin_threads();
  if (report_.kernel_choice.kernel_origin == ChoiceOrigin::built_in_rule &&
      !configuration().is_reproducible && !is_streamed())
    try_kernels();
  // Without a machine's description: its predictions are for matrices of the benchmark.
  if (report_.grid_is_automatic && options_.open_grid.tries_grids)
    session_.try_grids(*matrix_, session_.shortlist(matrix_->facts(), with_kernel), with_kernel);
}

void SolveRun::read() {
  group_.barrier();
  const Stopwatch stopwatch;
  const MemoryCheck check = [this](const auto& expected) { check_expected_memory(expected); };
  if (kept_ == nullptr)
    read_matrix_ = is_streamed() ? find_system(options_, session_.memory_of_rank(), group_, progress_, check)
                                 : read_system(options_, group_, progress_, check);
  matrix_ = kept_ == nullptr ? read_matrix_.get() : kept_;
  if (options_.assembles && source_row_of(options_.operator_text).is_negative_definite)
    report_.warnings.emplace_back("this is no result of the benchmark: -A x = b is solved to a tolerance");
  auto& result = report_.matrix.emplace();
  result.name = matrix_->facts().key.name;
  result.order = matrix_->order();
  result.nonzero_count = matrix_->nonzero_count();
  result.symmetrization = matrix_->symmetrization();
  result.read_s = group_.maximum(stopwatch.seconds());
  if (kept_ != nullptr) return;
  progress_.say(
      fmt::format("{} rows, {} nonzeros in {:.3f} s", result.order, result.nonzero_count, result.read_s));
}

/// Checks the memory of all that is to come, before the matrix is read or made: with the grid and the kernel that are taken where there is
/// no room to try others, and a little more, since pieces and nonzeros are not known exactly. A streamed matrix needs two panels at
/// least; more is checked when its rows are known.
void SolveRun::check_expected_memory(const ExpectedMatrix& expected) const {
  constexpr double inexact = 1.01;
  constexpr std::int64_t inexact_bytes = std::int64_t{1} << 20;
  constexpr std::int64_t two_panels = std::int64_t{5} << 19;  // of the least length, with room
  MatrixFacts facts;
  facts.key.order = expected.order;
  facts.nonzero_count = inexact * static_cast<double>(expected.entry_count);
  auto planned = configuration();
  planned.grid = resolve_grid(options_, facts, planned, group_.size());
  if (!planned.has_kernel()) {
    planned.kernel =
        has_several() ? kernels::default_kernel_for_several().name : kernels::kernel_for_any_pattern().name;
  }
  if (options_.features.of<OutOfCoreOptions>().chooses_kernel)
    planned.kernel = shortest_streamed_kernel(vector_count()).name;
  const auto layout = make_layout(facts, planned);
  agree_on(group_, [&] {
    check_memory(session_.granted_environment(), [&](int rank) {
      auto plan = plan_memory(facts, expected.working_bytes, planned, layout, rank);
      if (is_streamed())
        plan.block_bytes = std::min(2 * plan.format_bytes, two_panels) + stream_program_bytes;
      return inexact_bytes +
             std::max(expected.making_bytes / group_.size(), bytes_of_rank(facts, plan, layout, rank));
    });
  });
}

/// Random pieces are even ones, too: the order of the rows spreads the nonzeros.
void SolveRun::cut() {
  matrix_->set_piece_starts(options_.cut == MatrixCut::nonzeros
                                ? matrix_->balanced_piece_starts(group_.size(), group_)
                                : std::vector<std::int64_t>());
}

ChosenKernel SolveRun::kernel_for(const comm::ProcessGrid& grid) const {
  const auto choose = [&](const Configuration& asked) {
    if (has_several()) return choose_kernel_for_several(asked, options_.tuning, vector_count());
    return choose_kernel(matrix_->facts(), asked,
                         {.asked = options_.tuning,
                          .ranks_oversubscribed = report_.environment->ranks_oversubscribed,
                          .profile = report_.profile});
  };
  auto asked = options_.configuration;
  asked.grid = grid;
  if (options_.features.of<OutOfCoreOptions>().chooses_kernel) {
    asked.kernel = shortest_streamed_kernel(vector_count()).name;
    auto streamed_choice = choose(asked);
    streamed_choice.kernel_origin = ChoiceOrigin::built_in_rule;
    return streamed_choice;
  }
  const auto choice = choose(asked);
  if (choice.kernel_origin != ChoiceOrigin::built_in_rule) return choice;
  // The rule is for the benchmark's matrix.
  if (report_.kernel_trial) {
    asked.kernel = report_.kernel_trial->best;
  } else if (!has_several()) {
    asked.kernel = kernels::kernel_for_any_pattern().name;
  }
  auto own_choice = choose(asked);
  const bool was_tried = report_.kernel_trial && report_.kernel_trial->skipped_because.empty();
  own_choice.kernel_origin = was_tried ? ChoiceOrigin::trial : ChoiceOrigin::built_in_rule;
  return own_choice;
}

/// On the grid that is most promising.
void SolveRun::try_kernels() {
  const bool was_tried = kept_kernel_trial_ != nullptr && *kept_kernel_trial_;
  if (was_tried) {
    report_.kernel_trial = *kept_kernel_trial_;
  } else {
    progress_.say("trying kernels");
    const auto environment = session_.granted_environment();
    const auto shared = session_.configuration_of_trials();
    report_.kernel_trial = cg2d::try_kernels(group_, {.source = *matrix_,
                                                      .configuration = shared,
                                                      .environment = environment,
                                                      .asked = options_.tuning,
                                                      .vector_count = vector_count()});
    if (kept_kernel_trial_ != nullptr) *kept_kernel_trial_ = report_.kernel_trial;
  }
  session_.take_grid(configuration().grid, [this](const auto& grid) { return kernel_for(grid); });
}

/// The rows leave while the blocks grow, and the matrix has none afterwards, unless it is kept.
std::unique_ptr<BlockProduct> SolveRun::distribute(const comm::BlockLayout& layout) {
  auto& result = *report_.matrix;
  result.balance = balance_of(matrix_->nonzeros_of_blocks(layout, group_));
  const auto other_layout =
      options_.cut == MatrixCut::nonzeros
          ? equal_pieces(matrix_->order(), configuration().grid)
          : comm::BlockLayout(configuration().grid, matrix_->balanced_piece_starts(group_.size(), group_));
  result.other_balance = balance_of(matrix_->nonzeros_of_blocks(other_layout, group_));
  const auto& preconditioner = *find_preconditioner(options_.preconditioner);
  if (preconditioner.needs_diagonal) diagonal_ = matrix_->diagonal(layout, group_);
  group_.barrier();
  const Stopwatch distribution;
  auto block = kept_ == nullptr ? matrix_->take(layout, group_)
                                : matrix_->build(layout, group_, configuration().thread_count).block;
  result.distribute_s = group_.maximum(distribution.seconds());
  // Now, since a symmetric kernel drops half of the block.
  if (session_.features().find<CheckpointFeature>() != nullptr)
    value_hash_ = sum_of_words(group_, value_sum(block, place_of_block(layout, group_.rank())));
  session_.take_block(block, layout);
  const Stopwatch diagonal_parts;
  if (preconditioner.needs_diagonal_block) diagonal_block_ = diagonal_block_of(block, layout, group_);
  result.preconditioner_s = group_.maximum(diagonal_parts.seconds());
  auto [product, conversion_s] = session_.convert(std::move(block), layout);
  result.conversion_s = conversion_s;
  return std::move(product);
}

}  // namespace cg2d
