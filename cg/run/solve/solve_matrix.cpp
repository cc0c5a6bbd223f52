// The operator of a solve: a matrix in memory or on local storage (--out-of-core), or a product without one.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {

// ---------------------------------------------------------------- a matrix, cut into blocks and multiplied by a kernel

namespace {

BlockBalance balance_of(const std::vector<int64_t>& nonzeros) {
  const auto sum = std::accumulate(nonzeros.begin(), nonzeros.end(), int64_t{0});
  return {.largest = std::ranges::max(nonzeros),
          .mean = static_cast<double>(sum) / static_cast<double>(nonzeros.size())};
}

}  // namespace

void SolveRun::read_matrix() {
  const auto& asked = options_.configuration;
  if (has_several() && asked.has_kernel()) {
    const auto valid = kernel_names_for(vector_count_, streaming_.has_value());
    if (std::ranges::count(valid, asked.kernel) == 0)
      throw InputError("{} right-hand sides: --kernel {} takes one; take one of {}",
                       report_.right_hand_side_count, asked.kernel, fmt::join(valid, ", "));
  }
  group_.barrier();
  const Stopwatch stopwatch;
  const MemoryCheck check = [this](const auto& expected) { check_expected_memory(expected); };
  if (matrix_ == nullptr && !streaming_) {
    read_matrix_ = read_system(options_, group_, progress_, check);
  } else if (matrix_ == nullptr) {  // the matrix stays where it is, within the memory of the rank
    if (options_.assembles) {
      progress_.say(fmt::format("counting the rows of {}", options_.operator_text));
      read_matrix_ = open_source({.path = options_.operator_text, .check_memory = check},
                                 report_.environment->memory_of_rank(group_.rank()), group_);
    } else {
      read_matrix_ = open_binary_matrix(options_.matrix_path, "--out-of-core", group_);
    }
    read_matrix_->require_positive_diagonal(group_);
  }
  if (read_matrix_) matrix_ = read_matrix_.get();
  source_ = matrix_;
  if (options_.assembles && source_row_of(options_.operator_text).is_negative_definite)
    report_.warn("this is no result of the benchmark: -A x = b is solved to a tolerance");
  auto& result = report_.matrix.emplace();
  result.name = matrix_->facts().key.name;
  result.order = matrix_->order();
  result.nonzero_count = matrix_->nonzero_count();
  result.symmetrization = matrix_->symmetrization();
  result.read_s = group_.maximum(stopwatch.seconds());
  if (read_matrix_)
    progress_.say(
        fmt::format("{} rows, {} nonzeros in {:.3f} s", result.order, result.nonzero_count, result.read_s));
  // Random pieces are even ones, too: the order of the rows spreads the nonzeros.
  lay_out(nonzeros_cut, group_.size());
}

/// Checks the memory of all that is to come, before the matrix is read or made: with the grid and the kernel that are taken where there is
/// no room to try others, and a little more, since pieces and nonzeros are not known exactly. A streamed matrix needs two panels at
/// least; more is checked when its rows are known.
void SolveRun::check_expected_memory(const ExpectedMatrix& expected) const {
  constexpr double inexact = 1.01;
  constexpr int64_t inexact_bytes = int64_t{1} << 20;
  constexpr int64_t two_panels = int64_t{5} << 19;  // of the least length, with room
  MatrixFacts facts;
  facts.key.order = expected.order;
  facts.nonzero_count = inexact * static_cast<double>(expected.entry_count);
  auto planned = configuration();
  planned.grid = resolve_grid(options_, facts, planned, group_.size());
  if (!planned.has_kernel()) {
    planned.kernel =
        has_several() ? kernels::default_kernel_for_several().name : kernels::kernel_for_any_pattern().name;
  }
  if (options_.features.out_of_core.chooses_kernel)
    planned.kernel = shortest_streamed_kernel(vector_count_).name;
  const auto layout = make_layout(facts, planned);
  agree_on(group_, [&] {
    check_memory(*report_.environment, [&](int rank) {
      auto plan = plan_memory(facts, expected.working_bytes, planned, layout, rank,
                              streaming_ ? 0 : expected.leaving_bytes);
      if (streaming_) plan.block_bytes = std::min(2 * plan.format_bytes, two_panels) + stream_program_bytes;
      return inexact_bytes +
             std::max(expected.making_bytes / group_.size(), bytes_of_rank(facts, plan, layout, rank));
    });
  });
}

/// The matrix, the vectors of all right-hand sides, and the preconditioner. plan: for one right-hand side.
int64_t SolveRun::bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan,
                                const comm::BlockLayout& layout, int rank) const {
  // Beside those of the benchmark: b, p and the kept iterate; other forms of CG have up to eight more, a guard two states and the weights of its
  // checksums, a restart r and p.
  const bool is_classic = options_.variant == cg_variant_table().front().name;
  const auto& features = options_.features;
  const int64_t further_vectors =
      (is_classic ? 3 : 11) + (features.guard.checks ? 8 : 0) + (features.checkpoint.restart.empty() ? 0 : 2);
  auto beside = preconditioner_row().memory;
  beside.bytes_per_row += further_vectors * static_cast<int64_t>(sizeof(double));
  const auto of_pieces = piece_bytes(matrix, layout, rank, beside);
  const auto bytes_per_vector = saturated_sum(plan.vector_bytes, of_pieces);
  return saturated_sum(plan.total_bytes(), of_pieces + (vector_count_ - 1) * bytes_per_vector);
}

std::unique_ptr<BlockProduct> SolveRun::make_product(const comm::BlockLayout& layout) {
  if (!streaming_)
    agree_on(group_, [&] {
      check_memory(*report_.environment, [&](int rank) {
        const auto leaving_bytes = read_matrix_ ? read_matrix_->leaving_bytes() : 0;
        return bytes_of_rank(matrix_->facts(),
                             plan_memory(*matrix_, configuration(), layout, rank, leaving_bytes), layout,
                             rank);
      });
    });
  if (preconditioner_row().diagonal != DiagonalUse::none) diagonal_ = matrix_->diagonal(layout, group_);
  return streaming_ ? stream(layout) : distribute(layout);
}

/// The rows go when the block is there, and the matrix has none afterwards, unless it is kept.
std::unique_ptr<BlockProduct> SolveRun::distribute(const comm::BlockLayout& layout) {
  auto& result = *report_.matrix;
  const auto other_layout =
      configuration().cut == nonzeros_cut
          ? comm::BlockLayout::even(matrix_->order(), configuration().grid)
          : comm::BlockLayout(configuration().grid,
                              piece_starts_for({.kind = MatrixCut::Kind::nonzeros}, *matrix_, group_));
  result.other_balance = balance_of(matrix_->nonzeros_of_blocks(other_layout, group_));
  group_.barrier();
  const Stopwatch distribution;
  auto block = read_matrix_ ? matrix_->take(layout, group_)
                            : matrix_->build(layout, group_, configuration().thread_count).block;
  result.distribute_s = group_.maximum(distribution.seconds());
  result.balance = balance_of(group_.gather_one(block.nonzero_count()));
  // Now, since a symmetric kernel drops half of the block.
  if (checkpoints_)
    value_hash_ =
        sum_of_words(group_, value_sum(block, {.first_row = layout.rows_of(group_.rank()).begin,
                                               .first_column = layout.columns_of(group_.rank()).begin,
                                               .order = layout.size()}));
  const Stopwatch diagonal_parts;
  if (preconditioner_row().needs_diagonal_block) diagonal_block_ = diagonal_block_of(block, layout, group_);
  result.preconditioner_s = group_.maximum(diagonal_parts.seconds());
  auto [product, conversion_s] = convert(std::move(block), layout);
  result.conversion_s = conversion_s;
  return std::move(product);
}

std::unique_ptr<BlockProduct> SolveRun::stream(const comm::BlockLayout& layout) {
  auto beside = plan_memory(*matrix_, configuration(), layout, group_.rank());  // vectors and preconditioner
  beside.block_bytes = 0;
  beside.working_bytes = 0;
  auto product = streaming_->make_product(
      {.source = *matrix_,
       .hash = matrix_->content_hash().value(),
       .vector_bytes = bytes_of_rank(matrix_->facts(), beside, layout, group_.rank()),
       .sums_values = true},
      layout);
  const auto& figures = streaming_->figures();
  value_hash_ = sum_of_words(group_, figures.value_sum);
  report_.matrix->distribute_s = streaming_->generation_s();
  report_.matrix->balance = balance_of(group_.gather_one(figures.nonzero_count));
  return product;
}

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
  const MatrixFileOptions file{.path = options.matrix_text(),
                               .permutation_seed = permutation_seed_of(options),
                               .symmetrize_tolerance = options.symmetrize_tolerance,
                               .mirrors = options.mirrors,
                               .check_memory = check_memory,
                               .progress = say};
  auto matrix = options.assembles ? open_source(file, std::nullopt, group) : open_matrix(file, group);
  matrix->require_symmetric(group);
  matrix->require_positive_diagonal(group);
  return matrix;
}

// ---------------------------------------------------------------- a product without a matrix

void SolveRun::choose_matrix_free() {
  const auto& row = matrix_free_row();
  matrix_free_size_ = row.size_of(options_.operator_text);
  const auto cuts_domain = fmt::format(
      "{} without a matrix has neither process columns nor a kernel; take "
      "--domain, or --assembled",
      row.name);
  refuse_if(!row.uses_grid && (configuration().has_grid() || options_.open_grid.name_a_grid()), "--grid",
            "{}", cuts_domain);
  refuse_if(!row.uses_grid && configuration().has_kernel(), "--kernel", "{}", cuts_domain);
  refuse_if(row.uses_grid && options_.domain_grid, "--domain", "{} is cut by --grid", row.name);
  refuse_if(options_.configuration.cut != automatic_choice, "--cut",
            "{} without a matrix is cut into equal parts; take --assembled", row.name);
  refuse_if(preconditioner_row().needs_diagonal_block, "--preconditioner " + options_.preconditioner,
            "needs the entries of a matrix; take --assembled");
  constexpr int64_t most_vectors = 13;  // b, x, the kept iterate, and those of the largest form of CG
  const auto bytes_per_row = matrix_free_size_.bytes_per_row + preconditioner_row().memory.bytes_per_row +
                             most_vectors * static_cast<int64_t>(sizeof(double));
  agree_on(group_, [&] {
    check_memory(*report_.environment, [&](int /*rank*/) {
      return saturated(rows_of_rank() * static_cast<double>(bytes_per_row));
    });
  });
  group_.waiter().set_tick_source(&read_cycle_counter);
  report_.grid_is_automatic = false;
  report_.configuration.cut = even_cut;
  const int rank_count = group_.size();
  report_.configuration.grid =
      named_grid(options_, rank_count).value_or(comm::ProcessGrid{.columns = 1, .rows = rank_count});
  begin_threads();
}

void SolveRun::make_matrix_free() {
  if (chooses_transport()) try_matrix_free_transports();
  const Stopwatch making;
  const auto& text = options_.operator_text;
  const auto& row = matrix_free_row();
  matrix_free_ = row.make(text, {.group = group_,
                                 .configuration = configuration(),
                                 .domain_grid = options_.domain_grid,
                                 .times_phases = true,
                                 .changes_sign = row.is_negative_definite});
  auto& result = report_.matrix.emplace();
  result.name = text;
  result.order = matrix_free_->order();
  result.conversion_s = group_.maximum(making.seconds());
  report_.is_resolved = true;
  report_.configuration.kernel = matrix_free_->kernel();
  matrix_bytes_ = matrix_free_->matrix_byte_count();
  auto& without_matrix = report_.matrix_free.emplace();
  without_matrix.arrangement = matrix_free_->arrangement();
  for (const auto phase : row.phases) mine_.product_work[index_of(phase)] = matrix_free_->product_work(phase);
  without_matrix.phases.assign(row.phases.begin(), row.phases.end());
  without_matrix.phases.insert(without_matrix.phases.end(), {Phase::dot, Phase::vector_updates});
  if (!row.why_not_conforming.empty())
    report_.warn("this is no result of the benchmark: {}", row.why_not_conforming);
  const auto local_size = matrix_free_->local_size();
  if (const auto use = preconditioner_row().diagonal; use != DiagonalUse::none) {
    const auto element = matrix_free_->diagonal();
    refuse_if(!element && use != DiagonalUse::where_known, "--preconditioner " + options_.preconditioner,
              "the diagonal of {} is not known without its matrix", options_.operator_text);
    if (element) diagonal_.assign(local_size, *element);
  }
  operator_ = matrix_free_.get();
  timer_ = &matrix_free_->timer();
  place_ = {.size = matrix_free_->order(), .local_size = local_size, .row_of = [this](size_t element) {
              return matrix_free_->row_of(element);
            }};
  first_row_ = group_.sum_of_lower_ranks(static_cast<int64_t>(local_size));
}

/// By a trial with an operator for each transport. Profiles know matrices only.
void SolveRun::try_matrix_free_transports() {
  progress_.say("choosing the transport");
  const auto make = [&](const comm::TransportRow& transport) -> TrialWork {
    auto with_it = configuration();
    with_it.transport = transport.name;
    const std::shared_ptr system = matrix_free_row().make(
        options_.operator_text,
        {.group = group_, .configuration = with_it, .domain_grid = options_.domain_grid});
    const auto iteration =
        std::make_shared<NpbIteration>(*system, system->timer(), configuration().thread_count);
    return [system, iteration] {
      iteration->steps(few_trial_steps);
      return std::nan("");
    };
  };
  constexpr int64_t vectors_of_iteration = 5 * sizeof(double);
  const auto bytes = rows_of_rank() *
                     static_cast<double>(matrix_free_size_.bytes_per_row + vectors_of_iteration) *
                     static_cast<double>(comm::transport_table().size());
  // Half of the free memory stays free.
  const auto free_bytes = group_.minimum(report_.environment->memory_of_rank(group_.rank()));
  const bool has_room_for_all = bytes < 0.5 * static_cast<double>(free_bytes);
  try_transports({.configuration = configuration(),
                  .make = make,
                  .step_count = few_trial_steps,
                  .has_room_for_all = has_room_for_all},
                 "profiles have no operators without a matrix");
}

}  // namespace cg2d
