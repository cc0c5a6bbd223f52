#include "cg/run/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

// Rows, each defined in its own file.
CheckRow kernel_check();
CheckRow transport_check();
CheckRow symmetry_check();
CheckRow convergence_check();
CheckRow benchmark_check();

std::span<const CheckRow> check_table() {
  static const std::array table{kernel_check(), transport_check(), symmetry_check(), convergence_check(),
                                benchmark_check()};
  return table;
}

std::span<const NamedValue<CheckStatus>> words_of(CheckStatus /*status*/) {
  static constexpr std::array names{NamedValue<CheckStatus>{"ok", CheckStatus::ok},
                                    NamedValue<CheckStatus>{"failed", CheckStatus::failed},
                                    NamedValue<CheckStatus>{"unavailable", CheckStatus::unavailable}};
  return names;
}

double worse_of(double one, double other) {
  if (std::isnan(one)) return one;
  return other <= one ? one : other;
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
  for (const double figure : group.gather_one(mine.figure)) worst = worse_of(worst, figure);
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

CheckPlan short_check_plan(const Configuration& configuration, const kernels::Tuning& tuning) {
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr)
    throw InputError("--check: without a matrix there is no kernel to check; take --assembled");
  return {.configuration = configuration,
          .tuning = tuning,
          .kernels = {kernel},
          .transports = {comm::find_transport(configuration.transport)},
          .some_grids = {configuration.grid},
          .grids = {configuration.grid}};
}

void CheckList::run() {
  for (const auto& row : check_table()) {
    check_ = row.name;
    row.run(*this);
  }
}

void CheckList::add(const std::string& subject, const std::function<CheckResult()>& make) {
  progress_.begin(fmt::format("checking {} {}", check_, subject));
  const double begin_s = group_.maximum(stopwatch_.seconds());
  auto result = begin_s < plan_.time_limit_s
                    ? make()
                    : unavailable(fmt::format("not reached within {:g} s", plan_.time_limit_s));
  result.check = check_;
  result.subject = subject;
  result.seconds = std::max(0.0, group_.maximum(stopwatch_.seconds()) - begin_s);
  results_.push_back(std::move(result));
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
  const Progress part(Progress::Within{.task = progress});
  CheckList list(plan, group, part);
  list.run();
  const auto& results = list.results();
  if (const auto failure = std::ranges::find(results, CheckStatus::failed, &CheckResult::status);
      failure != results.end()) {
    throw RunError(ExitCode::verification_failed, "--check: {}; cg2d check shows all checks",
                   sentence_of(*failure));
  }
  progress.say(fmt::format("{} checks of this kernel, transport and grid ok in {:.2f} s",
                           count_of(results, CheckStatus::ok), list.seconds()));
}

}  // namespace cg2d
