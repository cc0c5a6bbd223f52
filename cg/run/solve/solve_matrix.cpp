// The matrix of a solve, in memory or on local storage (--out-of-core).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/value_hash.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/solve/solve_operator.hpp"
#include "cg/run/streaming/source_matrix.hpp"
#include "cg/run/streaming/streaming_feature.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/preconditioners/diagonal_block.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

BlockOrigin place_of_block(const comm::BlockLayout& layout, int rank) {
  return {.first_row = layout.rows_of(rank).begin,
          .first_column = layout.columns_of(rank).begin,
          .order = layout.size()};
}

/// The same for --out-of-core, which leaves the matrix where it is, within memory_bytes on each rank.
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

/// A matrix that is read or generated, cut into blocks, and multiplied by a kernel.
class MatrixOperator final : public SolvedOperator {
 public:
  MatrixOperator(const SolveParts& parts, const KeptSystem& kept)
      : parts_(parts),
        streaming_(parts.session.features().find<StreamingFeature>()),
        kept_(kept.matrix),
        kept_kernel_trial_(kept.kernel_trial) {}

  void choose() override;
  AssembledSystem make() override;

 private:
  [[nodiscard]] bool is_streamed() const { return streaming_ != nullptr; }
  void check_kernel_for_several() const;
  void read();
  void check_expected_memory(const ExpectedMatrix& expected) const;
  [[nodiscard]] std::int64_t bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan,
                                           const comm::BlockLayout& layout, int rank) const;
  void cut();
  void check_solve_memory(const comm::BlockLayout& layout) const;
  void try_kernels();
  /// The kernel named, or that of the profile, or that of the trial once it is made, or one that suits any pattern.
  [[nodiscard]] ChosenKernel kernel_for(const comm::ProcessGrid& grid) const;
  void choose_transport(const comm::BlockLayout& layout, const std::shared_ptr<BlockProduct>& product);
  std::unique_ptr<BlockProduct> distribute(const comm::BlockLayout& layout);
  [[nodiscard]] std::int64_t vector_bytes(const comm::BlockLayout& layout) const;
  std::unique_ptr<BlockProduct> stream(const comm::BlockLayout& layout);

  SolveParts parts_;
  StreamingFeature* streaming_;  // with --out-of-core
  SystemMatrix* kept_;
  std::optional<KernelTrial>* kept_kernel_trial_;
  std::unique_ptr<SystemMatrix> read_matrix_;
  SystemMatrix* matrix_ = nullptr;  // one of both
  HugePageVector diagonal_;
  kernels::CsrBlock diagonal_block_;
  std::uint64_t value_hash_ = 0;
  std::unique_ptr<AssembledOperator> assembled_;
};

/// Everything that is chosen before the matrix is spread.
void MatrixOperator::choose() {
  if (parts_.has_several()) check_kernel_for_several();
  read();
  cut();
  parts_.session.set_kernel_choice([this](const auto& grid) { return kernel_for(grid); });
  parts_.session.set_grid(
      resolve_grid(parts_.options, matrix_->facts(), parts_.configuration(), parts_.group.size()));
  parts_.session.check_choices();
  parts_.session.begin_threads();
  if (parts_.report.kernel_choice.kernel_origin == ChoiceOrigin::built_in_rule &&
      !parts_.configuration().is_reproducible && !is_streamed())
    try_kernels();
  // Without a machine's description: its predictions are for matrices of the benchmark.
  if (parts_.report.grid_is_automatic && parts_.options.open_grid.tries_grids) {
    parts_.session.learn_speeds(matrix_->facts());
    parts_.session.try_grids(*matrix_, parts_.session.shortlist(matrix_->facts()));
  }
  parts_.session.cut_by_speed(*matrix_);
}

void MatrixOperator::check_kernel_for_several() const {
  const auto& asked = parts_.options.configuration;
  if (!asked.has_kernel()) return;
  const auto takes_several = [this](const kernels::KernelRow& row) {
    return is_streamed() ? row.make_several_external != nullptr : row.make_for_several != nullptr;
  };
  if (takes_several(kernels::kernel_named(asked.kernel))) return;
  std::vector<std::string_view> known;
  for (const auto& row : kernels::kernel_table()) {
    if (takes_several(row)) known.push_back(row.name);
  }
  throw InputError(fmt::format("{} right-hand sides: --kernel {} takes one; take one of {}",
                               parts_.report.right_hand_side_count, asked.kernel, fmt::join(known, ", ")));
}

void MatrixOperator::read() {
  parts_.group.barrier();
  const Stopwatch stopwatch;
  const MemoryCheck check = [this](const auto& expected) { check_expected_memory(expected); };
  if (kept_ == nullptr)
    read_matrix_ = is_streamed() ? find_system(parts_.options, parts_.session.memory_of_rank(), parts_.group,
                                               parts_.progress, check)
                                 : read_system(parts_.options, parts_.group, parts_.progress, check);
  matrix_ = kept_ == nullptr ? read_matrix_.get() : kept_;
  if (parts_.options.assembles && source_row_of(parts_.options.operator_text).is_negative_definite)
    parts_.report.warnings.emplace_back(
        "this is no result of the benchmark: -A x = b is solved to a tolerance");
  auto& result = parts_.report.matrix.emplace();
  result.name = matrix_->facts().key.name;
  result.order = matrix_->order();
  result.nonzero_count = matrix_->nonzero_count();
  result.symmetrization = matrix_->symmetrization();
  result.read_s = parts_.group.maximum(stopwatch.seconds());
  if (kept_ != nullptr) return;
  parts_.progress.say(
      fmt::format("{} rows, {} nonzeros in {:.3f} s", result.order, result.nonzero_count, result.read_s));
}

/// Checks the memory of all that is to come, before the matrix is read or made: with the grid and the kernel that are taken where there is
/// no room to try others, and a little more, since pieces and nonzeros are not known exactly. A streamed matrix needs two panels at
/// least; more is checked when its rows are known.
void MatrixOperator::check_expected_memory(const ExpectedMatrix& expected) const {
  constexpr double inexact = 1.01;
  constexpr std::int64_t inexact_bytes = std::int64_t{1} << 20;
  constexpr std::int64_t two_panels = std::int64_t{5} << 19;  // of the least length, with room
  MatrixFacts facts;
  facts.key.order = expected.order;
  facts.nonzero_count = inexact * static_cast<double>(expected.entry_count);
  auto planned = parts_.configuration();
  planned.grid = resolve_grid(parts_.options, facts, planned, parts_.group.size());
  if (!planned.has_kernel()) {
    planned.kernel = parts_.has_several() ? kernels::default_kernel_for_several().name
                                          : kernels::kernel_for_any_pattern().name;
  }
  if (parts_.options.features.of<OutOfCoreOptions>().chooses_kernel)
    planned.kernel = shortest_streamed_kernel(parts_.vector_count()).name;
  const auto layout = make_layout(facts, planned);
  agree_on(parts_.group, [&] {
    check_memory(*parts_.report.environment, [&](int rank) {
      auto plan = plan_memory(facts, expected.working_bytes, planned, layout, rank);
      if (is_streamed())
        plan.block_bytes = std::min(2 * plan.format_bytes, two_panels) + stream_program_bytes;
      return inexact_bytes +
             std::max(expected.making_bytes / parts_.group.size(), bytes_of_rank(facts, plan, layout, rank));
    });
  });
}

/// The matrix, the vectors of all right-hand sides, and the preconditioner. plan: for one right-hand side.
std::int64_t MatrixOperator::bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan,
                                           const comm::BlockLayout& layout, int rank) const {
  // Beside those of the benchmark: b, p and the kept iterate; other forms of CG have up to eight more.
  const bool is_classic = parts_.options.variant == cg_variant_table().front().name;
  const auto further_vectors = is_classic ? std::int64_t{3} : std::int64_t{11};
  auto beside = find_preconditioner(parts_.options.preconditioner)->memory;
  beside.bytes_per_row += further_vectors * static_cast<std::int64_t>(sizeof(double));
  const auto of_pieces = piece_bytes(matrix, layout, rank, beside);
  const auto bytes_per_vector = saturated_sum(plan.vector_bytes, of_pieces);
  return saturated_sum(plan.total_bytes(), of_pieces + (parts_.vector_count() - 1) * bytes_per_vector);
}

/// Random pieces are even ones, too: the order of the rows spreads the nonzeros.
void MatrixOperator::cut() {
  parts_.report.configuration = with_cut(parts_.report.configuration, nonzeros_cut);
  const auto cut = matrix_cut_from(parts_.configuration().cut);
  matrix_->set_piece_starts(piece_starts_for(cut, *matrix_, parts_.group));
}

ChosenKernel MatrixOperator::kernel_for(const comm::ProcessGrid& grid) const {
  const auto choose = [&](const Configuration& asked) {
    if (parts_.has_several())
      return choose_kernel_for_several(asked, parts_.options.tuning, parts_.vector_count());
    return choose_kernel(matrix_->facts(), asked,
                         {.asked = parts_.options.tuning,
                          .ranks_oversubscribed = parts_.report.environment->ranks_oversubscribed,
                          .profile = parts_.report.profile});
  };
  auto asked = parts_.options.configuration;
  asked.grid = grid;
  if (parts_.options.features.of<OutOfCoreOptions>().chooses_kernel) {
    asked.kernel = shortest_streamed_kernel(parts_.vector_count()).name;
    auto streamed_choice = choose(asked);
    streamed_choice.kernel_origin = ChoiceOrigin::built_in_rule;
    return streamed_choice;
  }
  const auto choice = choose(asked);
  if (choice.kernel_origin != ChoiceOrigin::built_in_rule) return choice;
  // The rule is for the benchmark's matrix.
  if (parts_.report.kernel_trial) {
    asked.kernel = parts_.report.kernel_trial->best;
  } else if (!parts_.has_several()) {
    asked.kernel = kernels::kernel_for_any_pattern().name;
  }
  auto own_choice = choose(asked);
  const bool was_tried = parts_.report.kernel_trial && parts_.report.kernel_trial->skipped_because.empty();
  own_choice.kernel_origin = was_tried ? ChoiceOrigin::trial : ChoiceOrigin::built_in_rule;
  return own_choice;
}

/// On the grid that is most promising.
void MatrixOperator::try_kernels() {
  const bool was_tried = kept_kernel_trial_ != nullptr && *kept_kernel_trial_;
  if (was_tried) {
    parts_.report.kernel_trial = *kept_kernel_trial_;
  } else {
    parts_.progress.say("trying kernels");
    const auto& environment = *parts_.report.environment;
    const auto shared = parts_.session.configuration_of_trials();
    parts_.report.kernel_trial = cg2d::try_kernels(parts_.group, {.source = *matrix_,
                                                                  .configuration = shared,
                                                                  .environment = environment,
                                                                  .asked = parts_.options.tuning,
                                                                  .vector_count = parts_.vector_count()});
    if (kept_kernel_trial_ != nullptr) *kept_kernel_trial_ = parts_.report.kernel_trial;
  }
  parts_.session.set_grid(parts_.configuration().grid);
}

AssembledSystem MatrixOperator::make() {
  const auto layout = make_layout(matrix_->facts(), parts_.configuration());
  if (!is_streamed()) check_solve_memory(layout);
  const std::shared_ptr<BlockProduct> product = is_streamed() ? stream(layout) : distribute(layout);
  if (parts_.session.chooses_transport()) choose_transport(layout, product);
  assembled_ = parts_.session.connect(layout, product);
  const auto& communicator = assembled_->communicator();
  auto* const guard = make_guard(parts_.session.features(), layout, *assembled_);
  const int rank = parts_.group.rank();
  return {.matrix = guard != nullptr ? guard->guarded() : assembled_->matrix(),
          .timer = assembled_->timer(),
          .place = place_of(layout, matrix_->permutation(), rank),
          .sent = [&](comm::Operation operation) { return communicator.sent(operation); },
          .first_row = layout.own_piece(rank).begin * parts_.vector_count(),
          .matrix_bytes = read_footprint_bytes(*product, streaming_),
          .storage_bytes_per_s = storage_bytes_per_s(streaming_),
          .diagonal = std::move(diagonal_),
          .diagonal_block = std::move(diagonal_block_),
          .value_hash = value_hash_,
          .guard = guard};
}

void MatrixOperator::check_solve_memory(const comm::BlockLayout& layout) const {
  agree_on(parts_.group, [&] {
    check_memory(*parts_.report.environment, [&](int rank) {
      return bytes_of_rank(matrix_->facts(), plan_memory(*matrix_, parts_.configuration(), layout, rank),
                           layout, rank);
    });
  });
}

/// Profiles know times of one right-hand side only.
void MatrixOperator::choose_transport(const comm::BlockLayout& layout,
                                      const std::shared_ptr<BlockProduct>& product) {
  if (!parts_.has_several()) return parts_.session.choose_transport(*matrix_, layout, product);
  parts_.progress.say("choosing the transport");
  auto trial_config = block_trial(
      parts_.group, {.layout = layout, .configuration = parts_.configuration(), .product = product});
  trial_config.has_room_for_all = false;
  auto trial = try_transports(parts_.group, trial_config);
  trial.not_kept_because = "profiles have no several right-hand sides";
  parts_.session.set_transport(std::move(trial));
}

/// The rows leave while the blocks grow, and the matrix has none afterwards, unless it is kept.
std::unique_ptr<BlockProduct> MatrixOperator::distribute(const comm::BlockLayout& layout) {
  auto& result = *parts_.report.matrix;
  result.balance = balance_of(matrix_->nonzeros_of_blocks(layout, parts_.group));
  const auto other_layout =
      parts_.configuration().cut == nonzeros_cut
          ? equal_pieces(matrix_->order(), parts_.configuration().grid)
          : comm::BlockLayout(parts_.configuration().grid,
                              piece_starts_for({.kind = MatrixCut::Kind::nonzeros}, *matrix_, parts_.group));
  result.other_balance = balance_of(matrix_->nonzeros_of_blocks(other_layout, parts_.group));
  const auto& preconditioner = *find_preconditioner(parts_.options.preconditioner);
  if (preconditioner.diagonal != DiagonalUse::none) diagonal_ = matrix_->diagonal(layout, parts_.group);
  parts_.group.barrier();
  const Stopwatch distribution;
  auto block = kept_ == nullptr
                   ? matrix_->take(layout, parts_.group)
                   : matrix_->build(layout, parts_.group, parts_.configuration().thread_count).block;
  result.distribute_s = parts_.group.maximum(distribution.seconds());
  // Now, since a symmetric kernel drops half of the block.
  if (checkpoints_of(parts_.session.features()) != nullptr)
    value_hash_ = sum_of_words(parts_.group, value_sum(block, place_of_block(layout, parts_.group.rank())));
  parts_.session.record_block(block, layout);
  const Stopwatch diagonal_parts;
  if (preconditioner.needs_diagonal_block) diagonal_block_ = diagonal_block_of(block, layout, parts_.group);
  result.preconditioner_s = parts_.group.maximum(diagonal_parts.seconds());
  auto [product, conversion_s] = parts_.session.convert(std::move(block), layout);
  result.conversion_s = conversion_s;
  return std::move(product);
}

/// The bytes of the vectors and of the preconditioner.
std::int64_t MatrixOperator::vector_bytes(const comm::BlockLayout& layout) const {
  auto plan = plan_memory(*matrix_, parts_.configuration(), layout, parts_.group.rank());
  plan.block_bytes = 0;
  plan.working_bytes = 0;
  return bytes_of_rank(matrix_->facts(), plan, layout, parts_.group.rank());
}

std::unique_ptr<BlockProduct> MatrixOperator::stream(const comm::BlockLayout& layout) {
  if (find_preconditioner(parts_.options.preconditioner)->diagonal != DiagonalUse::none)
    diagonal_ = matrix_->diagonal(layout, parts_.group);
  auto product = streaming_->make_product({.source = *matrix_,
                                           .hash = matrix_->content_hash().value(),
                                           .vector_bytes = vector_bytes(layout),
                                           .sums_values = true},
                                          layout);
  const auto& streamed = streaming_->block();
  value_hash_ = sum_of_words(parts_.group, streamed.figures.value_sum);
  parts_.report.matrix->distribute_s = streamed.generation_s;
  parts_.report.matrix->balance = balance_of(parts_.group.gather_one(streamed.figures.nonzero_count));
  return product;
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
  const auto seed = permutation_seed_of(options);
  auto matrix =
      options.assembles
          ? generate_matrix(
                {.text = options.operator_text, .permutation_seed = seed, .check_memory = check_memory},
                group)
          : open_matrix({.path = options.matrix_path,
                         .permutation_seed = seed,
                         .symmetrize_tolerance = options.symmetrize_tolerance,
                         .mirrors = options.mirrors,
                         .check_memory = check_memory,
                         .progress = say},
                        group);
  matrix->require_symmetric(group);
  matrix->require_positive_diagonal(group);
  return matrix;
}

std::unique_ptr<SolvedOperator> operator_with_matrix(const SolveParts& parts, const KeptSystem& kept) {
  return std::make_unique<MatrixOperator>(parts, kept);
}

}  // namespace cg2d
