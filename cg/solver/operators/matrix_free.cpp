#include "cg/solver/operators/matrix_free.hpp"

#include <fmt/format.h>

#include "cg/base/errors.hpp"
#include "cg/matrix/npb_vectors.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

// ---------------------------------------------------------------- the NAS CG matrix as the sum of outer products that defines it

namespace {

/// The kernel for the factors, which are not symmetric.
const kernels::KernelRow& factor_kernel(const Configuration& configuration) {
  if (!configuration.has_kernel()) return kernels::default_kernel();
  require_known("--kernel", configuration.kernel, names_of(kernels::kernel_table()));
  const auto& row = kernels::kernel_named(configuration.kernel);
  if (row.stores_half())
    throw InputError(
        "--kernel {}: it stores half of a symmetric matrix; the factors of npb-factored "
        "are not symmetric, so take a kernel on whole blocks",
        row.name);
  return row;
}

/// One factor on the grid. timer: the clock of the other one, or nullptr.
std::unique_ptr<AssembledOperator> assembled_factor(kernels::CsrBlock block, const comm::BlockLayout& layout,
                                                    const MatrixFreeInput& input,
                                                    PhaseTimer* timer = nullptr) {
  return assemble(std::move(block), transport_of(input.configuration, input.group),
                  {.group = input.group,
                   .layout = layout,
                   .configuration = input.configuration,
                   .kernel = factor_kernel(input.configuration)},
                  input.times_phases, timer);
}

/// q = A p for A = V W V^T + d * 1, without A: applies V^T, then W, then V, each product on the whole grid of ranks in the phases of the benchmark. The rules
/// of the benchmark forbid it: its matrix must be assembled. It shows what that rule costs, and checks the
/// assembled product.
class FactoredSystem final : public MatrixFreeSystem {
 public:
  FactoredSystem(const comm::BlockLayout& layout, NpbFactor parts, const MatrixFreeInput& input)
      : layout_(layout),
        rank_(input.group.rank()),
        nonzero_counts_{parts.transposed.nonzero_count(), parts.factor.nonzero_count()},
        transposed_(assembled_factor(std::move(parts.transposed), layout, input)),
        factor_(assembled_factor(std::move(parts.factor), layout, input, &transposed_->timer())),
        weights_(std::move(parts.weights)),
        shift_(parts.diagonal),
        vectors_(input.configuration.thread_count),
        p_(transposed_->operand()),
        q_(p_.size()) {}

  [[nodiscard]] PhaseTimer& timer() override { return transposed_->timer(); }
  comm::Traffic sent(comm::Operation operation) const override {
    // Both send dot products only where one is asked to: that with V^T.
    return transposed_->communicator().sent(operation) + factor_->communicator().sent(operation);
  }
  int64_t order() const override { return layout_.size(); }
  int64_t row_of(size_t element) const override {
    return layout_.own_piece(rank_).begin + static_cast<int64_t>(element);
  }
  /// The mean of the two products, which take turns.
  VectorWork product_work(Phase phase) const override {
    if (phase != Phase::multiply) return {};
    const auto both =
        work_of_block_product(transposed_->communicator(), transposed_->product(), nonzero_counts_[0]) +
        work_of_block_product(factor_->communicator(), factor_->product(), nonzero_counts_[1]);
    return {.call_count = 1, .byte_count = both.byte_count / 2, .flop_count = both.flop_count / 2};
  }
  int64_t matrix_byte_count() const override {
    return transposed_->product().matrix_byte_count() + factor_->product().matrix_byte_count();
  }
  std::string arrangement() const override { return "grid " + layout_.grid().name(); }
  std::string_view kernel() const override { return factor_->product().kernel().name; }

  size_t local_size() const override { return q_.size(); }
  [[nodiscard]] Piece operand() override { return transposed_->operand(); }
  ConstPiece result() const override { return q_; }
  void sum_over_ranks(std::span<double> values) override { transposed_->sum_over_ranks(values); }
  VectorWork update_work() const override {
    return vectors_.update_work() + transposed_->update_work() + factor_->update_work();
  }
  void apply() override {
    transposed_->apply();
    {
      const auto timed = timer().scope(Phase::vector_updates);
      vectors_.multiply(weights_, transposed_->result(), factor_->operand());
    }
    factor_->apply();
    const auto timed = timer().scope(Phase::vector_updates);
    vectors_.copy(factor_->result(), q_);
    vectors_.add_scaled(shift_, p_, q_);
  }

 private:
  comm::BlockLayout layout_;
  int rank_;
  std::array<int64_t, 2> nonzero_counts_;          // of this rank's blocks of both factors
  std::unique_ptr<AssembledOperator> transposed_;  // V^T
  std::unique_ptr<AssembledOperator> factor_;      // V, on another communicator of the same layout and ranks
  std::vector<double> weights_;                    // W, of this rank's piece
  double shift_;                                   // d
  VectorOps vectors_;
  ConstPiece p_;  // the operand, which the product with V^T leaves as it is
  HugePageVector q_;
};

MatrixFreeRow npb_factored_operator() {
  static constexpr std::array phases{Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle};
  return {
      .name = "npb-factored",
      .arguments = "CLASS",
      .uses_grid = true,
      .is_negative_definite = true,
      .phases = phases,
      .why_not_conforming = "the matrix is applied as two sparse products, and never assembled",
      .size_of = [](std::string_view text) -> MatrixFreeSize {
        const auto& problem = class_from(text);
        // V and V^T as they are made, and in the kernel's format; weights and vectors.
        constexpr int64_t bytes_per_entry = 4 * (sizeof(double) + sizeof(int32_t));
        constexpr int64_t vector_bytes = 8 * sizeof(double);
        return {.order = problem.n, .bytes_per_row = bytes_per_entry * (problem.nonzer + 1) + vector_bytes};
      },
      .make = [](std::string_view text, const MatrixFreeInput& input) -> std::unique_ptr<MatrixFreeSystem> {
        static_cast<void>(factor_kernel(input.configuration));  // before the matrix is made
        const auto& problem = class_from(text);
        const auto& asked = input.configuration;
        const auto grid =
            asked.has_grid() ? asked.grid : comm::ProcessGrid{.columns = 1, .rows = input.group.size()};
        require_grid_of(grid, input.group.size());
        const auto layout = comm::BlockLayout::even(problem.n, grid);
        auto parts = make_npb_factor(problem, layout, input.group);
        if (input.changes_sign) {  // the factors of -A are those of A with other weights and diagonal
          for (auto& weight : parts.weights) weight = -weight;
          parts.diagonal = -parts.diagonal;
        }
        return std::make_unique<FactoredSystem>(layout, std::move(parts), input);
      }};
}

}  // namespace

// ---------------------------------------------------------------- the table

// Defined in the file of its operator.
MatrixFreeRow laplacian_operator(std::string_view name, std::string_view arguments);

std::span<const MatrixFreeRow> matrix_free_table() {
  static const std::array table{laplacian_operator("laplace2d", "NXxNY"),
                                laplacian_operator("laplace3d", "NXxNYxNZ[:27]"), npb_factored_operator()};
  return table;
}

const MatrixFreeRow* find_matrix_free(std::string_view text) {
  return row_named(matrix_free_table(), text.substr(0, text.find(':')));
}

std::string known_operators() {
  std::string known;
  for (const auto& row : matrix_free_table())
    known += fmt::format("{}{}:{}", known.empty() ? "" : ", ", row.name, row.arguments);
  return known;
}

const MatrixFreeRow& matrix_free_row_of(std::string_view text) {
  if (const auto* row = find_matrix_free(text)) return *row;
  throw InputError("{}: no such operator without a matrix; there are {}{}", text, known_operators(),
                   did_you_mean(text.substr(0, text.find(':')), names_of(matrix_free_table())));
}

const comm::TransportRow& transport_of(const Configuration& configuration, comm::RankGroup& group) {
  const auto name = configuration.has_transport() ? configuration.transport : Configuration{}.transport;
  require_known("--transport", name, names_of(comm::transport_table()));
  const auto& row = *comm::find_transport(name);
  if (const auto reason = row.why_unavailable(group); !reason.empty())
    throw RunError(ExitCode::unavailable, "--transport {}: {}", name, reason);
  return row;
}

}  // namespace cg2d
