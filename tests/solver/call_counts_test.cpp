// Figures that other parts derive from the solver (calls, bytes, operations, messages),
// compared with real outer iterations.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>

#include "comm/schedule.hpp"
#include "support/solver_run.hpp"

namespace cg2d::call_counts_test {
namespace {

using test::group;

/// The benchmark's iteration on one grid, with everything that can be counted.
struct CountedRun {
  explicit CountedRun(Configuration given)
      : layout(comm::BlockLayout::even(problem.n, given.grid)),
        configuration(std::move(given)),
        assembled(test::assembled(default_source().make(problem)->build(layout, group(), 1).block, layout,
                                  configuration, group(), true)),
        iteration(*assembled, problem.shift) {}

  const Problem& problem = *find_class("S");
  comm::BlockLayout layout;
  Configuration configuration;
  std::unique_ptr<AssembledOperator> assembled;
  NpbIteration iteration;
};

/// The messages that this rank sends in an outer step by the plan of the layout, operation by operation.
std::array<int64_t, comm::operation_count> planned_messages(const CountedRun& run) {
  const int rank = group().rank();
  const auto form = comm::SumForm::reduce_scatter;
  std::array<int64_t, comm::operation_count> planned{};
  const auto at = [&](comm::Operation operation) -> int64_t& {
    return planned[static_cast<size_t>(operation)];
  };
  at(comm::Operation::collect) = comm::collection_traffic(run.layout, rank).message_count;
  at(comm::Operation::sum) = comm::summation_traffic(run.layout, rank, form).message_count;
  at(comm::Operation::shuffle) = comm::shuffle_traffic(run.layout, rank).message_count;
  if (run.assembled->product().is_symmetric()) {
    at(comm::Operation::collect) +=
        comm::collection_traffic(run.layout, rank, comm::Line::process_row).message_count;
    at(comm::Operation::shuffle) += comm::mirrored_shuffle_traffic(run.layout, rank).message_count;
    at(comm::Operation::sum) +=
        comm::summation_traffic(run.layout, rank, form, comm::Line::process_column).message_count;
  }
  for (auto& count : planned) count *= OuterStepCalls::products;
  at(comm::Operation::dot) = OuterStepCalls::sums * comm::dot_traffic(group().size(), rank, 1).message_count;
  return planned;
}

void expect_figures(CountedRun& run) {
  const auto& vectors = run.iteration.vectors();
  const auto updates_before = vectors.update_work();
  static_cast<void>(run.iteration.outer_step());
  const auto updates = vectors.update_work() - updates_before;
  const auto dots = vectors.dot_work();
  const bool is_symmetric = run.assembled->product().is_symmetric();
  EXPECT_EQ(dots.call_count, OuterStepCalls::local_dots);
  EXPECT_EQ(updates.call_count, OuterStepCalls::updates(is_symmetric));

  // The benchmark counts the scaling of x as 2 n. The additions of half storage's sums are no part of its count.
  auto one_iteration = run.problem;
  one_iteration.niter = 1;
  const auto n = run.problem.n;
  const auto halves = is_symmetric ? OuterStepCalls::products * n : 0;
  EXPECT_EQ(static_cast<double>(group().sum(dots.flop_count + updates.flop_count) + n - halves),
            true_flop_count(one_iteration, 0));
  // Each entry of the matrix counts twice per product.
  EXPECT_EQ(true_flop_count(one_iteration, 1) - true_flop_count(one_iteration, 0),
            2.0 * OuterStepCalls::products);

  const auto vector_bytes = static_cast<int64_t>(run.assembled->local_size() * sizeof(double));
  // All but p . q and x . z read one vector: they are squares.
  constexpr int64_t of_two_vectors = cg_steps_per_solve + 1;
  EXPECT_EQ(dots.byte_count, (OuterStepCalls::local_dots + of_two_vectors) * vector_bytes);
  // Three vectors per call, but for one fill (one vector), and four copies and the scaling (two vectors); p is read once for
  // the end of a step and its next direction.
  EXPECT_EQ(updates.byte_count,
            (3 * OuterStepCalls::updates(is_symmetric) - 2 - 5 - cg_steps_per_solve) * vector_bytes);

  const auto planned = planned_messages(run);
  for (const auto& phase : phase_table()) {
    if (!phase.is_of_benchmark || !phase.communicates()) continue;
    EXPECT_EQ(run.assembled->communicator().sent(*phase.operation).message_count,
              planned[static_cast<size_t>(*phase.operation)])
        << phase.name;
  }
  const auto record = [&](Phase phase) { return run.assembled->timer().records()[index_of(phase)]; };
  const auto calls = [&](Phase phase) { return record(phase).calls; };
  constexpr auto products = static_cast<uint64_t>(OuterStepCalls::products);
  const auto parts = run.assembled->product().part_count();
  EXPECT_EQ(parts, run.configuration.overlaps ? comm::collection_parts(run.layout, group().rank()).size()
                                              : size_t{1});
  EXPECT_EQ(calls(Phase::summation), products);
  EXPECT_EQ(calls(Phase::shuffle), products);
  EXPECT_EQ(calls(Phase::multiply), products * parts);
  EXPECT_EQ(calls(Phase::dot), static_cast<uint64_t>(OuterStepCalls::sums));
  // Products after the last part hide no communication.
  EXPECT_LT(record(Phase::collection).hidden_clocks, record(Phase::multiply).clocks);
  EXPECT_EQ(record(Phase::multiply).hidden_clocks, 0U);
  if (is_symmetric) return;
  EXPECT_EQ(record(Phase::collection).hidden_clocks > 0, parts > 1);
  // The last one waits until the messages of this rank have been sent.
  EXPECT_EQ(calls(Phase::collection), products * (parts > 1 ? parts + 1 : 1));
}

TEST(CallCountsTest, AnOuterStepHasTheFiguresThatOthersDeriveFromIt) {
  for (const auto& grid : comm::factorizations(group().size())) {
    // One kernel of each storage: calls depend on nothing else of a kernel.
    for (const auto& configuration :
         crossed({.grid = grid}, {{"kernel", {"scalar", "symmetric-scalar"}}, {"overlap", {"off", "on"}}})) {
      SCOPED_TRACE(configuration_key(configuration));
      CountedRun run(configuration);
      expect_figures(run);
    }
  }
}

}  // namespace
}  // namespace cg2d::call_counts_test
