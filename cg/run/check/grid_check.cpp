// Checks on grids of the ranks that run: the contract of a transport, and of q = A p symmetry, convergence, and the benchmark of class S.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/exchange_check.hpp"

namespace cg2d {
namespace {

/// The largest sum of magnitudes of a row of the whole matrix. Each rank gathers its part of all rows, zero elsewhere.
double largest_row_sum(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                       comm::RankGroup& group) {
  std::vector<double> mine(static_cast<std::size_t>(layout.size()));
  const auto first_row = static_cast<std::size_t>(layout.rows_of(group.rank()).begin);
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.row_count); ++row) {
    for (auto k = block.row_starts[row]; k < block.row_starts[row + 1]; ++k)
      mine[first_row + row] += std::abs(block.values[static_cast<std::size_t>(k)]);
  }
  std::vector<double> sums(mine.size());
  for (const auto& part : group.gather_all(std::span<const double>(mine)))
    std::ranges::transform(sums, part, sums.begin(), std::plus());
  return sums.empty() ? 0.0 : std::ranges::max(sums);
}

/// Vector `number`: within -1 ... 1, the same on every grid.
HugePageVector vector_of(const comm::IndexRange& piece, int number) {
  return random_vector(static_cast<std::uint64_t>(number),
                       {.local_size = static_cast<std::size_t>(piece.size()),
                        .row_of = [&](std::size_t k) { return piece.begin + static_cast<std::int64_t>(k); }});
}

std::vector<double> applied(LinearOperator& matrix, std::span<const double> x) {
  std::ranges::copy(x, matrix.operand().begin());
  matrix.apply();
  const auto result = matrix.result();
  return {result.begin(), result.end()};
}

double own_dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

const Problem& small_problem() { return *find_class("S"); }

/// Adds a check for each grid and the plan's kernel, or one of each storage: make(parts). begin: of its subject.
template <typename Make>
void add_on_grids(CheckList& list, std::string_view begin, const std::vector<comm::ProcessGrid>& grids,
                  bool takes_each_storage, const Make& make) {
  const auto& plan = list.plan;
  std::vector rows{kernels::find_kernel(plan.configuration.kernel)};
  if (takes_each_storage)
    rows = {&kernels::default_kernel(kernels::Storage::whole),
            &kernels::default_kernel(kernels::Storage::half)};
  const auto& transport = *comm::find_transport(plan.configuration.transport);
  for (const auto& grid : grids) {
    for (const auto* row : rows) {
      auto configuration = plan.configuration;
      configuration.grid = grid;
      list.add(fmt::format("{}{}, {}, {}", begin, grid.name(), row->name, transport.name), [&] {
        return make(ProductParts{
            .kernel = *row, .transport = transport, .configuration = configuration, .tuning = plan.tuning});
      });
    }
  }
}

}  // namespace

CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group) {
  if (auto reason = row.why_unavailable(group); !reason.empty()) return unavailable(std::move(reason));
  constexpr std::int64_t order = 1'009;
  std::vector<std::int64_t> uneven{0};  // pieces of 0, 5, 10, 0, ... elements
  for (int piece = 0; piece < grid.rank_count(); ++piece)
    uneven.push_back(uneven.back() + std::int64_t{5} * (piece % 3));
  std::int64_t wrong = 0;
  try {
    for (const auto form : row.sum_forms) {
      for (const auto& layout : {equal_pieces(order, grid), comm::BlockLayout(grid, uneven)}) {
        const auto communicator = make_communicator(
            row, group, layout, {.sum_form = form, .mirrored = true, .ranks_per_node = ranks_per_node});
        comm::ExchangeCheck check(*communicator, layout, group.rank());
        for (int round = 0; round < 4; ++round) {
          wrong += round % 2 == 0 ? check.collection(round) : check.collection_in_parts(round);
          if (round < 2) {
            for (const auto count : comm::Communicator::scalar_counts)
              wrong += check.scalar_sum(count, round);
          }
          wrong += check.sum_and_shuffle(round);
        }
      }
    }
  } catch (const RunError& error) {  // too little memory to share, on every rank alike
    return unavailable(error.what());
  }
  return judged_over_ranks({.figure = static_cast<double>(wrong)}, 0.0, group);
}

DistributedSystem::DistributedSystem(const Problem& problem, const ProductParts& parts,
                                     comm::RankGroup& group)
    : order(problem.n) {
  const auto& configuration = parts.configuration;
  const auto source = default_source().make(problem);
  const auto layout = make_layout(source->facts(), configuration);
  piece = layout.own_piece(group.rank());
  auto block = source->build(layout, group, configuration.thread_count).block;
  norm = largest_row_sum(block, layout, group);
  assembled = assemble(std::move(block), parts.transport,
                       {.group = group,
                        .layout = layout,
                        .configuration = configuration,
                        .kernel = parts.kernel,
                        .tuning = parts.tuning});
}

CheckResult check_symmetry(LinearOperator& matrix, const comm::IndexRange& piece, std::int64_t order,
                           double norm) {
  constexpr int pair_count = 4;
  constexpr double tolerance = 2.0;
  double worst = 0.0;
  for (int pair = 0; pair < pair_count; ++pair) {
    const auto x = vector_of(piece, 2 * pair);
    const auto y = vector_of(piece, 2 * pair + 1);
    const auto ax = applied(matrix, x);
    const auto ay = applied(matrix, y);
    std::array sums{own_dot(x, ay), own_dot(y, ax), own_dot(x, x), own_dot(y, y)};
    matrix.sum_over_ranks(sums);
    const double unit = static_cast<double>(order) * std::numeric_limits<double>::epsilon() * norm *
                        std::sqrt(sums[2] * sums[3]);
    worst = worse_of(worst, std::abs(sums[0] - sums[1]) / unit);
  }
  return judged(worst, tolerance);
}

Problem boosted(const Problem& problem, double norm) {
  constexpr double boost = 10.0;
  auto result = problem;
  result.shift = -boost * norm;
  return result;
}

CheckResult check_convergence(LinearOperator& matrix, const comm::IndexRange& piece) {
  constexpr int most_steps = 12;
  const auto b = vector_of(piece, 0);
  std::vector<double> x(b.size());
  const Tolerance tolerance({.relative = 1e-12, .most_steps = 10 * most_steps});
  IdentityPreconditioner none;
  const auto solved = cg2d::solve(matrix, b, x, {.stop = tolerance, .preconditioner = none});
  if (solved.end != SolveEnd::converged)
    return judged(std::numeric_limits<double>::infinity(), most_steps, sentence_of(solved));
  return judged(solved.step_count, most_steps);
}

CheckResult check_benchmark(const Problem& problem, const ProductParts& parts, comm::RankGroup& group) {
  DistributedSystem system(problem, parts, group);
  NpbIteration solver(*system.assembled, problem.shift);
  solver.reset();
  const auto steps = solver.outer_steps(problem.niter, {});
  const double reference = problem.reference_zeta.value();
  return judged(std::abs(steps.back().zeta - reference) / std::abs(reference), Problem::tolerance);
}

void add_transport_checks(CheckList& list) {
  const auto& plan = list.plan;
  for (const auto* row : plan.transports) {
    for (const auto& grid : plan.some_grids) {
      list.add(fmt::format("{}, {}", row->name, grid.name()),
               [&] { return check_transport(*row, grid, plan.configuration.ranks_per_node, list.group); });
    }
  }
}

void add_symmetry_checks(CheckList& list) {
  add_on_grids(list, "", list.plan.some_grids, list.plan.takes_all_loops, [&](const ProductParts& parts) {
    DistributedSystem system(small_problem(), parts, list.group);
    return check_symmetry(system.matrix(), system.piece, system.order, system.norm);
  });
}

void add_convergence_checks(CheckList& list) {
  add_on_grids(list, "", list.plan.some_grids, list.plan.takes_all_loops, [&](const ProductParts& parts) {
    auto unshifted = small_problem();
    unshifted.shift = 0.0;
    const double norm = DistributedSystem(unshifted, parts, list.group).norm;
    DistributedSystem system(boosted(small_problem(), norm), parts, list.group);
    return check_convergence(system.matrix(), system.piece);
  });
}

void add_benchmark_checks(CheckList& list) {
  add_on_grids(list, "class S, ", list.plan.grids, false, [&](const ProductParts& parts) {
    return check_benchmark(small_problem(), parts, list.group);
  });
}

}  // namespace cg2d
