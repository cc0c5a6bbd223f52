// --guard and --inject: soft errors are found, and what they have spoiled is made again. What they do not go with, the
// sections of a result, and its lines.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "cg/base/describe.hpp"
#include "cg/base/values.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/solve/solve_options.hpp"

namespace cg2d {

std::string describe(const Detection& found) {
  static constexpr std::array<std::string_view, guard_check_count> texts{
      "a stored column number is out of range", "the sum of q differs from that of its columns",
      "alpha^2 ||q||^2 differs from (1 + beta) rho", "x - A z differs from r",
      "the CRC-32C of the matrix block has changed"};
  const bool has_size = found.check != GuardCheck::column_range && found.check != GuardCheck::matrix_bytes;
  return fmt::format(
      "{}: {}{} ({})", describe(found.place), texts[static_cast<size_t>(found.check)],
      has_size ? fmt::format(" by {:.3g}, tolerance {:.3g}", found.error, found.tolerance) : "",
      name_of(found.check));
}

void resolve_guard(const AskedWork& asked) {
  const auto option = asked.options.features.guard.checks ? "--guard" : "--inject";
  if (asked.system == nullptr) return;
  require_matrix(asked, option);
  require_classic_form(asked, option);
  refuse_if(!find_preconditioner(asked.system->preconditioner)->is_diagonal, option,
            "not for --preconditioner {}; take {}", asked.system->preconditioner,
            names_of_diagonal_preconditioners());
  refuse_if(asked.options.configuration.is_reproducible, option, "does not go with --reproducible on");
  refuse_if(asked.options.features.checkpoint.is_used(), option,
            "does not go with --checkpoint and --restart");
}

namespace {

/// The place of a detection or of a fault. A solve has no outer iterations: its place is an iteration.
void describe_place(Members& m, SolvePlace& place, bool of_solve) {
  m("rank", place.rank, at_least(0));
  if (of_solve) {
    m("iteration", place.product, at_least(0, "From 1; of a detection: the last one before it."));
    place.outer_step = of_a_solve;
  } else {
    m("outer_step", place.outer_step, at_least(0, "From 1; 0 is the untimed one."));
    m("product", place.product,
      at_least(0, "Of the outer iteration, from 1: the number of the CG step, or 26 for the residual."));
  }
}

void describe_fault(Members& m, Fault& fault, bool of_solve) {
  describe_place(m, fault.place, of_solve);
  std::string target(target_name(fault));
  m("target", target, meaning("A, columns, p, r, z (of a solve x), block q, q or rho"));
  const auto* const found = std::ranges::find(fault_target_names, target == "x" ? "z" : target);
  if (m.reads() && found == fault_target_names.end())
    m.complain(fmt::format("{} is \"{}\", which is no array", m.where("target"), target));
  else if (m.reads())
    fault.target = static_cast<FaultTarget>(found - fault_target_names.begin());
  m("made", fault.is_made, meaning("False where the run did not come to it, or had no such element."));
  m("element", fault.element, at_least(0, "Of the array of the rank, from 0."));
  m("bit", fault.bit, at_least(0, "Of the element, from the lowest one."));
}

void describe_checks(Members& m, GuardReport& guard, bool of_solve) {
  m.object("checks", meaning("Those of all ranks together, what is not timed included."), [&] {
    for (size_t check = 0; check < guard_check_count; ++check)
      m.object(guard_checks[check].name, [&] {
        m("count", guard.check_counts[check], at_least(0));
        m("largest_ratio", guard.largest_ratios[check],
          at_least(0, "Of an error to its tolerance, where it held; 0 for checks that say only yes or no."));
      });
  });
  m.list("detections", guard.detections, meaning("The first one of each attempt that was given up."),
         [&](Detection& found, size_t /*index*/) {
           describe_place(m, found.place, of_solve);
           m("check", found.check);
           m("error", found.error);
           m("tolerance", found.tolerance);
         });
  m("rollbacks", guard.rollback_count,
    at_least(0, "Attempts at outer iterations, or at parts of the solve, that were made again."));
  m("time_s", guard.time_s,
    at_least(0, "Of checks in all that is timed, on the rank where they took longest."));
  m("time_share", guard.time_share,
    at_least(0, "Of the time of the solve, or of all finished repetitions; 0 without one."));
}

}  // namespace

/// The members of a result: guard where there were checks, injected where faults were made.
void describe_guard(Members& m, GuardReport& guard, WorkKind kind) {
  const bool of_solve = kind == WorkKind::solve;
  m.object_if(guard.options.checks, "guard",
              meaning("Only with --guard, of work that came to its iterations."),
              [&] { describe_checks(m, guard, of_solve); });
  m.object_if(
      guard.options.inject, "injected", meaning("Only with --inject, of work that came to its iterations."),
      [&](InjectOptions& inject) {
        m("seed", inject.seed, at_least(0));
        m.list("flips", guard.faults, {.meaning = "As drawn, in the order of their times.", .fewest = 1},
               [&](Fault& fault, size_t /*index*/) { describe_fault(m, fault, of_solve); });
      });
}

std::string text_of(const GuardReport& guard) {
  if (!guard.options.is_used()) return {};
  std::string text = "\n";
  constexpr size_t most_lines = 20;
  if (const auto& inject = guard.options.inject) {
    const auto made = std::ranges::count_if(guard.faults, &Fault::is_made);
    text += fmt::format(" Injected        = {} of {} (seed {})\n", made,
                        format_count(std::ssize(guard.faults), "bit flip"), inject->seed);
    for (size_t k = 0; k < std::min(guard.faults.size(), most_lines); ++k)
      text += fmt::format("   {}\n", describe(guard.faults[k]));
  }
  if (!guard.options.checks) return text;
  const auto& counts = guard.check_counts;
  text += fmt::format(" Guard           = {}, {}, {}",
                      format_count(std::accumulate(counts.begin(), counts.end(), int64_t{0}), "check"),
                      format_count(std::ssize(guard.detections), "detection"),
                      format_count(guard.rollback_count, "rollback"));
  if (guard.time_share > 0.0) text += fmt::format(", {:.2f} % of the time", 100.0 * guard.time_share);
  text += '\n';
  for (size_t k = 0; k < std::min(guard.detections.size(), most_lines); ++k)
    text += fmt::format("   {}\n", describe(guard.detections[k]));
  return text;
}

}  // namespace cg2d
