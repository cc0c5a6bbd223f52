// The checks: products of a kernel against those of the plainest one; on grids of the ranks that run the contract of a transport, and the
// benchmark of class S.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/exchange_check.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {
namespace {

std::string subject_of(const kernels::KernelRow& row, const kernels::KernelOptions& options) {
  std::string text(row.name);
  if (options.instruction_set) text += fmt::format(", {}", kernels::name_of(*options.instruction_set));
  if (options.thread_count > 1) text += fmt::format(", {} threads", options.thread_count);
  if (options.vector_count > 1) text += fmt::format(", {} vectors", options.vector_count);
  return text;
}

/// Every instruction set that some rank has, two threads, and several vectors.
std::vector<kernels::KernelOptions> all_loops_of(const kernels::KernelRow& row, comm::RankGroup& group) {
  std::vector<kernels::KernelOptions> loops;
  for (const auto set : kernels::all_instruction_sets) {
    const bool is_here = std::ranges::count(row.instruction_sets, set) > 0;
    if (group.maximum(int64_t{is_here}) != 0) loops.push_back({.instruction_set = set});
  }
  loops.push_back({.thread_count = 2});
  if (!row.makes_several) return loops;
  for (const int count : kernels::vector_counts) loops.push_back({.vector_count = count});
  return loops;
}

}  // namespace

/// Kernels for whole blocks also multiply the first third of the rows. Any exception of a kernel but lack of memory is a failure of the check.
CheckResult check_kernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                         const std::vector<kernels::KnownProduct>& known, comm::RankGroup& group) {
  std::string reason;  // of this rank; empty where it can make the kernel
  const auto set = options.instruction_set;
  if (set && !std::ranges::count(row.instruction_sets, *set))
    reason = fmt::format("no loop for {} on this processor", kernels::name_of(*set));
  CheckResult mine;
  agree_on(group, [&] {
    if (!reason.empty()) return;
    try {
      for (const auto& product : known) {
        const auto order = product.block.row_count;
        for (const auto row_count : {order, order / 3}) {
          if (row.stores_half() && row_count < order) continue;
          auto stored = product.block.first_rows(row_count);
          keep_stored(stored, row.storage, equal_pieces(order, {.columns = 1, .rows = 1}), 0);
          const double error = kernels::product_error(row, options, std::move(stored), product);
          mine.figure = kernels::worse_of(mine.figure, error);
        }
      }
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      mine = {.figure = std::numeric_limits<double>::infinity(), .reason = error.what()};
    }
  });
  const auto reasons = group.gather_all(reason);
  if (std::ranges::none_of(reasons, [](const std::string& text) { return text.empty(); }))
    return unavailable(reasons.front());
  constexpr double most_rounding = 1.0;
  return judged_over_ranks(mine, most_rounding, group);
}

CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group) {
  if (auto reason = row.why_unavailable(group); !reason.empty()) return unavailable(std::move(reason));
  constexpr int64_t order = 1'009;
  std::vector<int64_t> uneven{0};  // pieces of 0, 5, 10, 0, ... elements
  for (int piece = 0; piece < grid.rank_count(); ++piece)
    uneven.push_back(uneven.back() + int64_t{5} * (piece % 3));
  int64_t wrong = 0;
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

CheckResult check_benchmark(const Problem& problem, const ProductParts& parts, comm::RankGroup& group) {
  const auto& configuration = parts.configuration;
  const auto source = default_source().make(problem);
  const auto layout = make_layout(source->facts(), configuration);
  auto block = source->build(layout, group, configuration.thread_count).block;
  const auto assembled = assemble(std::move(block), parts.transport,
                                  {.group = group,
                                   .layout = layout,
                                   .configuration = configuration,
                                   .kernel = parts.kernel,
                                   .tuning = parts.tuning});
  const auto steps = NpbIteration(*assembled, problem.shift).outer_steps(problem.niter, {});
  const double reference = problem.reference_zeta.value();
  return judged(std::abs(steps.back().zeta - reference) / std::abs(reference), Problem::tolerance);
}

std::vector<CheckResult> make_checks(const CheckPlan& plan, comm::RankGroup& group,
                                     const Progress& progress) {
  std::vector<CheckResult> results;
  const Stopwatch stopwatch;
  // One check: make() is collective, and gives the same result on every rank.
  const auto add = [&](std::string_view check, const std::string& subject, const auto& make) {
    progress.begin(fmt::format("checking {} {}", check, subject));
    const double begin_s = group.maximum(stopwatch.seconds());
    auto result = begin_s < plan.time_limit_s
                      ? make()
                      : unavailable(fmt::format("not reached within {:g} s", plan.time_limit_s));
    result.check = check;
    result.subject = subject;
    result.seconds = std::max(0.0, group.maximum(stopwatch.seconds()) - begin_s);
    results.push_back(std::move(result));
  };
  {
    // Gone before the others: check_installation() counts their memory.
    const auto known = kernels::make_known_products();
    for (const auto* row : plan.kernels) {
      std::vector<kernels::KernelOptions> loops{
          {.thread_count = plan.configuration.thread_count, .tuning = plan.tuning}};
      if (plan.takes_all_loops) loops = all_loops_of(*row, group);
      for (const auto& options : loops)
        add("kernel", subject_of(*row, options), [&] { return check_kernel(*row, options, known, group); });
    }
  }
  for (const auto* row : plan.transports) {
    for (const auto& grid : plan.some_grids)
      add("transport", fmt::format("{}, {}", row->name, grid.name()),
          [&] { return check_transport(*row, grid, plan.configuration.ranks_per_node, group); });
  }
  const auto& transport = *comm::find_transport(plan.configuration.transport);
  std::vector rows{kernels::find_kernel(plan.configuration.kernel)};
  if (plan.takes_all_loops)
    rows = {&kernels::default_kernel(kernels::Storage::whole),
            &kernels::default_kernel(kernels::Storage::half)};
  for (const auto& grid : plan.grids) {
    for (const auto* row : rows) {
      auto configuration = plan.configuration;
      configuration.grid = grid;
      const ProductParts parts{
          .kernel = *row, .transport = transport, .configuration = configuration, .tuning = plan.tuning};
      add("benchmark", fmt::format("class S, {}, {}, {}", grid.name(), row->name, transport.name),
          [&] { return check_benchmark(*find_class("S"), parts, group); });
    }
  }
  return results;
}

}  // namespace cg2d
