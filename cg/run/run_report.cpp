#include "cg/run/run_report.hpp"

#include <cmath>
#include <tuple>

#include "cg/base/describe.hpp"

namespace cg2d {
namespace {

/// Share of the timed region that takes clocks_of(rank, times), mean over ranks.
template <typename Clocks>
double mean_share(const RepeatReport& repeat, const Clocks& clocks_of) {
  double sum = 0.0;
  for (size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& times = repeat.ranks[rank];
    sum += clocks_of(rank, times) / static_cast<double>(times.region_clocks);
  }
  return sum / static_cast<double>(repeat.ranks.size());
}

constexpr double read_and_written = 2.0;

/// The bytes of a phase's messages, once read and once written; 0 for a phase without messages.
double message_bytes(const RankTimes& times, const PhaseRow& phase) {
  return read_and_written * static_cast<double>(times.sent_in(phase.phase).byte_count);
}

PhaseWork work_from(const VectorWork& work, double count = 1.0, double storage_byte_count = 0.0) {
  return {.byte_count = count * static_cast<double>(work.byte_count),
          .flop_count = count * static_cast<double>(work.flop_count),
          .storage_byte_count = count * storage_byte_count};
}

/// The arithmetic of a phase, and the memory that it touches beside messages.
PhaseWork local_work(const PhaseRow& phase, const RankResult& rank, const RankTimes& times) {
  switch (phase.work) {
    case LocalWork::none:
      break;
    case LocalWork::stencil:
    case LocalWork::product: {
      // Each product is summed once; it may multiply in several parts.
      const auto counted = phase.work == LocalWork::product ? Phase::summation : phase.phase;
      return work_from(rank.product_work[index_of(phase.phase)],
                       static_cast<double>(times.phases[index_of(counted)].calls),
                       phase.phase == Phase::multiply ? rank.streamed_bytes_per_product : 0.0);
    }
    case LocalWork::additions:
      // Every element that arrives is added: as many as were sent, but for uneven pieces.
      return {.flop_count = message_bytes(times, phase) / (read_and_written * sizeof(double))};
    case LocalWork::dot_products:
      return work_from(times.dot_work);
    case LocalWork::vector_updates:
      return work_from(times.update_work);
  }
  return {};
}

}  // namespace

std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, size_t event) {
  const auto& name = counters.counted[event];
  const bool counted_any =
      std::ranges::any_of(repeat.counts, [&](const auto& rank) { return rank.region[event] != 0; });
  // There may rightly be no software events; those of the processor would have happened.
  if (counted_any || find_software_event(name) != nullptr) return {};
  return fmt::format("{} counted nothing in the timed region: the processor may not have it (cg2d events)",
                     name);
}

double phase_coverage(const RepeatReport& repeat) {
  return mean_share(repeat, [](size_t, const RankTimes& times) {
    uint64_t clocks = 0;
    for (const auto& record : times.phases) clocks += record.clocks;
    return static_cast<double>(clocks);
  });
}

double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat) {
  return mean_share(repeat, [&](size_t rank, const RankTimes& times) {
    uint64_t readings = times.wait_count;
    for (const auto& record : times.phases) readings += record.calls;  // without scopes that go on with one
    return static_cast<double>(readings) * ranks[rank].clocks_per_scope;
  });
}

std::array<PhaseWork, phase_count> work_of(const RankResult& rank, const RankTimes& times) {
  std::array<PhaseWork, phase_count> work{};
  for (const auto& phase : phase_table()) {
    auto& own = work[index_of(phase.phase)];
    own = local_work(phase, rank, times);
    own.byte_count += message_bytes(times, phase);
  }
  return work;
}

double shortest_time_s(Phase phase, const PhaseWork& work, const MachineLimits& limits) {
  const bool reads_matrix = phase_row(phase).work == LocalWork::product;
  const double bandwidth = reads_matrix ? limits.matrix_bytes_per_s : limits.vector_bytes_per_s;
  const double storage_s =
      limits.storage_bytes_per_s > 0.0 ? work.storage_byte_count / limits.storage_bytes_per_s : 0.0;
  return std::max({work.byte_count / bandwidth, work.flop_count / limits.flops_per_s, storage_s});
}

// ---------------------------------------------------------------- a run of the benchmark

namespace {

std::string numbers_text(const Problem& problem) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                     problem.niter);
}

}  // namespace

uint64_t RestartFacts::problem_hash() const { return hash_of_text("run " + numbers_text(problem)); }

void describe(Members& m, RestartFacts& restart) {
  m("n", restart.problem.n);
  m("nonzer", restart.problem.nonzer);
  m("shift", restart.problem.shift);
  m("niter", restart.problem.niter);
  m("saw_positive", restart.signs.saw_positive);
  m("saw_negative", restart.signs.saw_negative);
  m.list("steps", restart.earlier_steps, {}, [&](OuterStep& step, size_t /*index*/) {
    m("zeta", step.zeta);
    m("residual_norm", step.residual_norm);
  });
}

RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::run)
    throw FileError(folder, "found a checkpoint of cg2d solve, expected one of cg2d run");
  auto restart = from_json_line<RestartFacts>(checkpoint.state);
  const bool is_possible =
      restart && header.vector_count == 1 && header.step >= 1 && restart->step_count() == header.step &&
      std::ranges::all_of(restart->earlier_steps, [](const auto& step) { return is_finite(step); });
  if (!is_possible) throw FileError(folder, "found an impossible state, expected one of cg2d run");
  if (header.matrix_hash != RestartFacts{.problem = problem}.problem_hash() || header.order != problem.n ||
      header.step >= problem.niter)
    throw FileError(folder, "found a checkpoint of another problem ({}), expected class {} ({})",
                    numbers_text(restart->problem), problem.class_name, numbers_text(problem));
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

std::string disturbance(const RunReport& report) {
  const auto is_disturbed = [](const RepeatReport& repeat) { return repeat.quiet.is_disturbed(); };
  const auto count = std::ranges::count_if(report.repeats, is_disturbed);
  if (count == 0) return {};
  auto text = std::ranges::find_if(report.repeats, is_disturbed)->quiet.reason();
  if (report.repeats.size() == 1) return text;
  return fmt::format("{} of {} repetitions, the first of them: {}", count, report.repeats.size(), text);
}

const RepeatReport& median_repeat(const RunReport& report) {
  return median_run_of(report.repeats, &RepeatReport::time_s);
}
RepeatReport& median_repeat(RunReport& report) {
  const auto& median = median_repeat(std::as_const(report));
  return report.repeats[static_cast<size_t>(&median - report.repeats.data())];
}

double mops_of(const RunReport& report, const RepeatReport& repeat) {
  return official_flop_count(timed_part(report)) / repeat.time_s / 1e6;
}

std::optional<double> relative_error(const RunReport& report, const RepeatReport& repeat) {
  const auto& reference = report.problem.reference_zeta;
  if (!reference || !report.unfinished.empty()) return std::nullopt;
  return std::abs(repeat.steps.back().zeta - *reference) / std::abs(*reference);
}

Sample repeat_times(const RunReport& report) {
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  return sample_of(std::move(times_s));
}

Problem timed_part(const RunReport& report) {
  Problem problem = report.problem;
  if (report.restart) problem.niter -= report.restart->step_count();
  return problem;
}

double cg_step_count(const RunReport& report) {
  return static_cast<double>(timed_part(report).niter) * cg_steps_per_solve;
}

const OuterStep& final_step(const RunReport& report) { return median_repeat(report).steps.back(); }

RowLengths all_row_lengths(const RunReport& report) {
  RowLengths all = report.ranks.front().row_lengths;
  for (size_t rank = 1; rank < report.ranks.size(); ++rank) all = merged(all, report.ranks[rank].row_lengths);
  return all;
}

// ---------------------------------------------------------------- a solve

void describe(Members& m, SolveRestart& restart) {
  auto& cg = restart.state;
  m("number", cg.number);
  m("rho", cg.rho);
  m("curvature", cg.curvature);
  m("alpha", cg.alpha);
  m("beta", cg.beta);
  m("residual_square", cg.residual_square);
  m("first_residual_square", cg.first_residual_square);
  m("right_hand_side_square", cg.right_hand_side_square);
  m("right_hand_side_is_zero", cg.right_hand_side_is_zero);
  m("direction_square", cg.direction_square);
  m("largest_quotient", cg.largest_quotient);
  m("replacement_count", cg.replacement_count, at_least(0));
  m("saw_positive", cg.signs.saw_positive);
  m("saw_negative", cg.signs.saw_negative);
  m("replaced_norm", restart.replaced_norm);
  m.list("steps", restart.steps, {}, [&](StepNumbers& step, size_t /*index*/) {
    m("alpha", step.alpha);
    m("beta", step.beta);
    m("residual_square", step.residual_square);
    m("replacement_count", step.replacement_count, at_least(0));
  });
}

SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointHeader& system,
                           const std::string& text) {
  const auto& [folder, header] = std::tie(checkpoint.folder, checkpoint.header());
  if (header.kind != CheckpointKind::solve)
    throw FileError(folder, "found a checkpoint of cg2d run, expected one of cg2d solve");
  auto restart = from_json_line<SolveRestart>(checkpoint.state);
  if (!restart || header.vector_count != 3 || header.step < 1 || restart->state.number != header.step ||
      std::ssize(restart->steps) != header.step)
    throw FileError(folder, "found an impossible state, expected one of cg2d solve");
  if (header.matrix_hash != system.matrix_hash || header.order != system.order)
    throw FileError(folder, "found a checkpoint of another system (of {} rows), expected {}", header.order,
                    text);
  restart->checkpoint = std::move(checkpoint);
  return *std::move(restart);
}

}  // namespace cg2d
