#include "cg/run/check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/exchange_check.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {

std::span<const CheckRow> check_table() {
  static constexpr std::array table{
      CheckRow{.name = "kernel",
               .what = "products of every kernel, in each instruction set of this machine, against the "
                       "scalar reference",
               .figure = "largest difference, in parts of what rounding allows"},
      CheckRow{
          .name = "transport",
          .what =
              "collection, summation, shuffle and sums of scalars of every transport against exact results",
          .figure = "wrong elements on the rank that has most"},
      CheckRow{.name = "benchmark",
               .what = "zeta of class S on all grids, with whole and half storage, against the official one",
               .figure = "relative difference"}};
  return table;
}

CheckResult judged(double figure, double tolerance, std::string reason) {
  CheckResult result{.figure = figure, .tolerance = tolerance, .reason = std::move(reason)};
  if (!(figure <= tolerance)) result.status = CheckStatus::failed;
  return result;
}

CheckResult unavailable(std::string reason) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return {.status = CheckStatus::unavailable, .figure = none, .tolerance = none, .reason = std::move(reason)};
}

CheckResult judged_over_ranks(const CheckResult& mine, double tolerance, comm::RankGroup& group) {
  double worst = 0.0;
  for (const double figure : group.gather_one(mine.figure)) worst = kernels::worse_of(worst, figure);
  const auto reasons = group.gather_all(mine.reason);
  const auto first = std::ranges::find_if(reasons, [](const std::string& text) { return !text.empty(); });
  std::string reason;
  if (first != reasons.end()) reason = fmt::format("{} (rank {})", *first, first - reasons.begin());
  return judged(worst, tolerance, std::move(reason));
}

CheckPlan full_check_plan(int rank_count) {
  CheckPlan plan{.configuration = {}, .takes_all_loops = true};
  plan.configuration.kernel = kernels::default_kernel().name;
  for (const auto& row : kernels::kernel_table()) plan.kernels.push_back(&row);
  for (const auto& row : comm::transport_table()) plan.transports.push_back(&row);
  plan.grids = comm::factorizations(rank_count);
  plan.some_grids = plan.grids;
  // The flattest and the tallest grid, and the two in the middle: those with most columns and rows alike.
  if (const auto middle = plan.grids.size() / 2; plan.grids.size() > 4)
    plan.some_grids = {plan.grids.front(), plan.grids[middle - 1], plan.grids[middle], plan.grids.back()};
  return plan;
}

CheckPlan short_check_plan(const Configuration& configuration, const ChosenKernel& choice) {
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr)
    throw InputError("--check: without a matrix there is no kernel to check; take --assembled");
  return {.configuration = configuration,
          .tuning = choice.tuning,
          .vector_count = choice.vector_count,
          .kernels = {kernel},
          .transports = {comm::find_transport(configuration.transport)},
          .some_grids = {configuration.grid},
          .grids = {configuration.grid}};
}

int count_of(std::span<const CheckResult> results, CheckStatus status) {
  return static_cast<int>(std::ranges::count(results, status, &CheckResult::status));
}

std::string sentence_of(const CheckResult& failure) {
  return fmt::format("{} {}: {:.3g}, at most {:.3g} allowed{}{}", failure.check, failure.subject,
                     failure.figure, failure.tolerance, failure.reason.empty() ? "" : "; ", failure.reason);
}

void check_before_run(const CheckPlan& plan, comm::RankGroup& group, const Progress& progress) {
  progress.begin("checking kernel, transport and grid");
  const Progress part(ProgressMode::quiet, group.rank());
  const Stopwatch stopwatch;
  const auto results = make_checks(plan, group, part);
  if (const auto failure = std::ranges::find(results, CheckStatus::failed, &CheckResult::status);
      failure != results.end()) {
    throw RunError(ExitCode::verification_failed, "--check: {}; cg2d check shows all checks",
                   sentence_of(*failure));
  }
  progress.say(fmt::format("{} checks of this kernel, transport and grid ok in {:.2f} s",
                           count_of(results, CheckStatus::ok), stopwatch.seconds()));
}

// ---------------------------------------------------------------- cg2d check

namespace {

std::string check_text(const CheckReport& report) {
  size_t width = 0;
  for (const auto& result : report.results) width = std::max(width, result.subject.size());
  std::string text =
      fmt::format(" {} on {}: {}\n {}, {}\n instruction sets: {}\n", format_count(report.rank_count, "rank"),
                  format_count(report.node_count, "node"), report.machine, report.mpi, report.blas,
                  fmt::join(report.instruction_sets, ", "));
  for (const auto& row : check_table()) {
    text +=
        fmt::format("\n {}: {}\n {:{}}  figure: {}\n", row.name, row.what, "", row.name.size(), row.figure);
    for (const auto& result : report.results) {
      if (result.check != row.name) continue;
      text += fmt::format("   {:<{}}  {:<11} {:>9.3f} s  ", result.subject, width, name_of(result.status),
                          result.seconds);
      if (result.status != CheckStatus::unavailable)
        text += fmt::format("{:.3g}, at most {:.3g}{}", result.figure, result.tolerance,
                            result.reason.empty() ? "" : "; ");
      text += result.reason + "\n";
    }
  }
  return text + fmt::format("\n {} ok, {} failed, {} unavailable in {:.1f} s: {}\n",
                            count_of(report.results, CheckStatus::ok),
                            count_of(report.results, CheckStatus::failed),
                            count_of(report.results, CheckStatus::unavailable), report.seconds,
                            report.has_failures() ? "this installation is NOT right on this machine"
                                                  : "all checks passed");
}

}  // namespace

void describe(Members& m, CheckResult& result) {
  m("check", result.check, meaning("The name of one of the checks."));
  m("subject", result.subject,
    meaning("The object of the check: a kernel with its instruction set, a transport with a grid, ..."));
  m("status", result.status);
  m("figure", result.figure, meaning("Null: unavailable, NaN or infinite."));
  m("tolerance", result.tolerance, meaning("ok: the figure is at most this. Null: unavailable."));
  m("reason", result.reason, meaning("Why it is unavailable, or more about a failure; may be empty."));
  m("seconds", result.seconds, at_least(0));
}

void describe(Members& m, CheckReport& report) {
  const auto code = report.has_failures() ? ExitCode::verification_failed : ExitCode::success;
  std::vector<CheckRow> kinds(check_table().begin(), check_table().end());
  m.constant("schema_version", 1);
  m.derived("status", code);
  m.derived("exit_code", static_cast<int>(code), meaning("Of the program on every rank: 0 or 82."));
  m("machine", report.machine, meaning("The processor of rank 0, with its caches."));
  m("mpi", report.mpi);
  m("blas", report.blas);
  m("ranks", report.rank_count, at_least(1));
  m("nodes", report.node_count, at_least(1));
  m("instruction_sets", report.instruction_sets,
    {.meaning = "Those of rank 0's processor for which kernels have loops.", .fewest = 1});
  m.list("checks", kinds, {.meaning = "The kinds of checks.", .fewest = 1},
         [&](CheckRow& row, size_t /*index*/) {
           m.derived("name", row.name);
           m.derived("what", row.what, meaning("Is held against what."));
           m.derived("figure", row.figure, meaning("The meaning of figure in the results."));
         });
  m("results", report.results, {.fewest = 1});
  for (const auto& [name, status] : check_statuses)
    m.derived(name, count_of(report.results, status), at_least(0));
  m("seconds", report.seconds, at_least(0));
}

std::string write_check_report(const CheckReport& report, const std::string& format) {
  return format == "json" ? document_text(report) : check_text(report);
}

ExitCode check_installation(const CheckOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto output = open_output(options.output, group);
  const auto environment = inspect_environment(group, 1, options.memory_limit_bytes, &progress);
  group.waiter().set_mode(environment.wait_mode());
  // Beside its process a rank took 46 MB at most, on 1 to 8 ranks (2026-11-25): every transport's buffers and windows one after the
  // other, and the benchmark with every kernel.
  constexpr int64_t check_bytes = int64_t{48} << 20;
  agree_on(group, [&] {
    check_memory(
        environment, [](int /*rank*/) { return check_bytes; }, "take fewer ranks");
  });
  const auto plan = full_check_plan(group.size());
  const Stopwatch stopwatch;
  auto results = make_checks(plan, group, progress);
  CheckReport report{.machine = environment.nodes.front().processor_with_caches(),
                     .mpi = environment.mpi_version,
                     .blas = environment.blas,
                     .rank_count = group.size(),
                     .node_count = static_cast<int>(environment.nodes.size()),
                     .results = std::move(results),
                     .seconds = stopwatch.seconds()};
  for (const auto set : kernels::of_this_processor(kernels::all_instruction_sets))
    report.instruction_sets.emplace_back(kernels::name_of(set));
  write_output(output.get(), group, [&] { return write_check_report(report, options.format); });
  if (!report.has_failures()) return ExitCode::success;
  if (group.rank() == 0) {
    const auto first = std::ranges::find(report.results, CheckStatus::failed, &CheckResult::status);
    say_on_stderr(fmt::format("{} failed; the first one: {}",
                              format_count(count_of(report.results, CheckStatus::failed), "check"),
                              sentence_of(*first)));
  }
  return ExitCode::verification_failed;
}

// ---------------------------------------------------------------- the checks

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
          keep_stored(stored, row.storage, comm::BlockLayout::even(order, {.columns = 1, .rows = 1}), 0);
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
      for (const auto& layout : {comm::BlockLayout::even(order, grid), comm::BlockLayout(grid, uneven)}) {
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

CheckResult check_benchmark(const Problem& problem, const CheckPlan& plan, comm::RankGroup& group) {
  const auto& configuration = plan.configuration;
  const auto source = default_source().make(problem);
  const auto layout = make_layout(source->facts(), configuration);
  auto block = source->build(layout, group, configuration.thread_count).block;
  const auto assembled = assemble(std::move(block), *plan.transports.front(),
                                  {.group = group,
                                   .layout = layout,
                                   .configuration = configuration,
                                   .kernel = *plan.kernels.front(),
                                   .tuning = plan.tuning,
                                   .sums_reproducibly = configuration.is_reproducible});
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
      std::vector<kernels::KernelOptions> loops{{.thread_count = plan.configuration.thread_count,
                                                 .tuning = plan.tuning,
                                                 .vector_count = plan.vector_count}};
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
  auto product = plan;
  product.transports = {&transport};
  for (const auto& grid : plan.grids) {
    product.configuration.grid = grid;
    for (const auto* row : rows) {
      product.kernels = {row};
      add("benchmark", fmt::format("class S, {}, {}, {}", grid.name(), row->name, transport.name),
          [&] { return check_benchmark(*find_class("S"), product, group); });
    }
  }
  return results;
}

}  // namespace cg2d
