// The rows of Laplacians without a matrix.

#include "cg/base/errors.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/solver/operators/stencil_operator.hpp"

namespace cg2d {
namespace {

comm::DomainLayout domain_layout(const Stencil& stencil, const MatrixFreeInput& input) {
  const int rank_count = input.group.size();
  const auto grid =
      input.domain_grid ? *input.domain_grid : comm::best_domain_grid(stencil.extents, rank_count);
  if (grid.rank_count() != rank_count) {
    throw InputError("{}: the cut {} is of {} ranks, there are {}", stencil.name(), grid.name(),
                     grid.rank_count(), rank_count);
  }
  return {stencil.extents, grid};
}

class StencilSystem final : public MatrixFreeSystem {
 public:
  StencilSystem(const Stencil& stencil, const MatrixFreeInput& input)
      : stencil_(stencil),
        layout_(domain_layout(stencil, input)),
        halo_(transport_of(input.configuration, input.group)
                  .make_halo(input.group, layout_,
                             {.shape = halo_shape(stencil),
                              .ranks_per_node = input.configuration.ranks_per_node,
                              .memory = &page_memory()})),
        sums_(make_communicator(
            transport_of(input.configuration, input.group), input.group,
            equal_pieces(0, {.columns = 1, .rows = input.group.size()}),  // only sums over all ranks
            {.ranks_per_node = input.configuration.ranks_per_node})),
        timer_(input.times_phases, *sums_),
        matrix_(stencil, layout_.box(input.group.rank()), *halo_, *sums_, timer_,
                {.thread_count = input.configuration.thread_count}) {}

  [[nodiscard]] LinearOperator& matrix() override { return matrix_; }
  [[nodiscard]] PhaseTimer& timer() override { return timer_; }
  [[nodiscard]] comm::Traffic sent(comm::Operation operation) const override {
    return operation == comm::Operation::halo ? halo_->sent() : sums_->sent(operation);
  }
  [[nodiscard]] std::int64_t order() const override { return stencil_.order(); }
  [[nodiscard]] std::int64_t row_of(std::size_t element) const override {
    const auto& box = matrix_.box();
    const auto number = static_cast<std::int64_t>(element);
    const auto line = number / box.extent(0);
    return box.ranges[0].begin + number % box.extent(0) +
           stencil_.extents[0] * (box.ranges[1].begin + line % box.extent(1) +
                                  stencil_.extents[1] * (box.ranges[2].begin + line / box.extent(1)));
  }
  [[nodiscard]] std::optional<double> diagonal() const override { return stencil_.diagonal(); }
  [[nodiscard]] VectorWork product_work(Phase phase) const override { return matrix_.product_work(phase); }
  [[nodiscard]] std::string arrangement() const override { return "domain " + layout_.grid().name(); }
  [[nodiscard]] std::string_view kernel() const override { return "stencil"; }

 private:
  Stencil stencil_;
  comm::DomainLayout layout_;
  std::unique_ptr<comm::HaloExchange> halo_;
  std::unique_ptr<comm::Communicator> sums_;
  PhaseTimer timer_;
  StencilOperator matrix_;
};

}  // namespace

MatrixFreeRow laplacian_operator(std::string_view name, std::string_view arguments,
                                 std::string_view description) {
  return {
      .name = name,
      .arguments = arguments,
      .description = description,
      .size_of = [](std::string_view text) -> MatrixFreeSize {
        return {.order = stencil_from(text).order(),
                .bytes_per_row = 3 * sizeof(double)};  // p with its halo, and q
      },
      .make = [](std::string_view text, const MatrixFreeInput& input) -> std::unique_ptr<MatrixFreeSystem> {
        return std::make_unique<StencilSystem>(stencil_from(text), input);
      }};
}

}  // namespace cg2d
