#include "cg/tuning/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

const TimedCandidate& Trial::tried_one(std::string_view name) const {
  return *std::ranges::find(tried, name, &TimedCandidate::name);
}

std::string Trial::text() const {
  std::string text;
  for (const auto& one : tried)
    text += fmt::format("{}{} {:.4g} us", text.empty() ? "" : ", ", one.name, 1e6 * one.step_s);
  return fmt::format("{} per CG step{}{}", text, verdict.reason.empty() ? "" : "; ", verdict.text());
}

void race_candidates(comm::RankGroup& group, const std::vector<NamedCandidate>& candidates,
                     const TrialRace& race, Trial& trial, std::optional<double>& expected_zeta) {
  std::vector<std::function<void()>> works;
  works.reserve(candidates.size());
  for (const auto& [name, candidate] : candidates) works.emplace_back([&one = *candidate] { one.iterate(); });
  const auto result = cg2d::race(group, works, race.limits);
  const auto seconds = result.medians();
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const double zeta = race.compares_zeta ? candidates[k].candidate->zeta() : std::nan("");
    if (!expected_zeta) expected_zeta = zeta;
    // Where all have NaN they compare none, or computed it alike, and the run itself reports it.
    const bool agrees = std::abs(zeta - *expected_zeta) <= Problem::tolerance * std::abs(*expected_zeta) ||
                        (std::isnan(zeta) && std::isnan(*expected_zeta));
    if (!agrees) {
      throw RunError(ExitCode::verification_failed,
                     fmt::format("{} {}: zeta {:.13f} differs from {:.13f} of the first {}", race.thing,
                                 candidates[k].name, zeta, *expected_zeta, race.thing));
    }
    trial.tried.push_back({.name = candidates[k].name, .step_s = seconds[k] / race.step_count});
  }
  trial.spread = std::max(trial.spread, result.spread());
  if (!candidates.empty()) trial.verdict = race_verdict(result.turns, names_of(candidates));
}

std::unique_ptr<TrialSolver> TrialSolver::make(comm::RankGroup& group, const MatrixSource& source,
                                               const Configuration& configuration, const ChosenKernel& chosen,
                                               std::optional<double> shift, bool times_phases) {
  const auto layout = make_layout(source.facts(), configuration);
  auto block = source.build(layout, group, configuration.thread_count).block;
  const auto nonzero_count = block.nonzero_count();
  auto plan = assembly_plan(group, layout, configuration, chosen);
  plan.sums_reproducibly = false;  // trials time the usual sums
  auto solver = std::make_unique<TrialSolver>(
      assemble(std::move(block), *comm::find_transport(configuration.transport), plan, times_phases), shift);
  solver->nonzero_count_ = nonzero_count;
  return solver;
}

void describe_tried(Members& m, std::string_view thing, Trial& trial) {
  m.list("tried", trial.tried, {}, [&](TimedCandidate& one, std::size_t /*index*/) {
    m(thing, one.name, not_empty());
    m("step_s", one.step_s, positive("Time of a CG step."));
  });
}

void describe_skipped(Members& m, std::string_view thing, Trial& trial) {
  m.list("skipped", trial.skipped, meaning("Those that cannot serve here, or would take too long."),
         [&](SkippedCandidate& one, std::size_t /*index*/) {
           m(thing, one.name, not_empty());
           m("reason", one.reason, not_empty());
         });
}

void describe_verdict(Members& m, Trial& trial) {
  auto verdict = trial.verdict.candidate.empty() ? std::nullopt : std::optional(trial.verdict);
  m("verdict", verdict,
    or_null("How sure the choice of a trial is; null where nothing was measured in turns."));
  if (m.reads()) trial.verdict = verdict.value_or(RaceVerdict{});
}

}  // namespace cg2d
