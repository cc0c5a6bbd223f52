#include "cg/studies/study.hpp"

#include <unistd.h>

#include <cmath>
#include <numeric>

#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

/// The expected amount of computing in a run of the benchmark on that many cores, generation included: in nonzeros that
/// one core multiplies.
double expected_work(const Problem& problem, int core_count) {
  // The generation of a matrix takes about as long as so many products (classes A to C, 1 to 4 ranks).
  constexpr double products_of_generation = 60.0;
  const double products = products_per_outer_step * (problem.niter + 1.0) + products_of_generation;
  return facts_of(problem).nonzero_count * products / core_count;
}

}  // namespace

SystemOptions measured_system(SystemOptions options) {
  // Far below what rounding leaves, and its square is still a normal number: subnormal ones are slow.
  options.relative_tolerance = 1e-100;
  options.absolute_tolerance = 0.0;
  options.measures_iterations = true;
  return options;
}

std::string ranking_text(const Ranking& ranking,
                         const std::function<std::string(const ConfiguredProblem&)>& name_of,
                         std::string_view nothing) {
  if (ranking.alternatives.empty()) return fmt::format("{} succeeded", nothing);
  std::vector<std::string> names;
  for (const auto& one : ranking.alternatives) names.push_back(name_of(one.asked));
  const auto& first = *ranking.candidate();
  const auto reason = verdict_text(ranking.verdict, names, "--repeat");
  const double median_s = sample_of(ranking.alternatives.front().times_s).median;
  auto time = fmt::format("{:.4g} s", median_s);
  if (first.asked.is_system())
    time += fmt::format(", {:.4g} ms per iteration", 1e3 * median_s / first.runs.front().iteration_count);
  if (ranking.is_decided()) return fmt::format("best is {} with {}, {}", names.front(), time, reason);
  return reason.empty() ? fmt::format("{} with {}: nothing to compare it with", names.front(), time)
                        : fmt::format("no clear winner: {} (median {}) was {}", names.front(), time, reason);
}

std::string troubles_text(const MeasuredConfiguration& measured, const std::string& name) {
  const auto& [runs, statuses] = std::tie(measured.runs, measured.statuses);
  const auto run_count = format_count(measured.disturbed_runs().of, "run");
  std::string text;
  if (!statuses.empty())
    text += fmt::format("  Failed: {}, {} of {}: {}: {}\n", name, statuses.size(), run_count,
                        statuses.front(), measured.reason);
  if (measured.disturbed_count == 0 && measured.replaced_count == 0) return text;
  text += fmt::format("  Disturbed (!): {}, {} of {}", name, measured.disturbed_count, run_count);
  if (measured.replaced_count > 0)
    text += fmt::format("; {} more {} repeated", measured.replaced_count,
                        measured.replaced_count == 1 ? "was" : "were");
  const auto first = std::ranges::find_if(runs, &ResultRecord::is_disturbed);
  if (first != runs.end()) text += fmt::format(", in round {}: {}", first->round, first->disturbance);
  return text + "\n";
}

std::vector<StudyStep> interleaved(const std::vector<size_t>& numbers, int first, int last) {
  std::vector<StudyStep> steps;
  for (int round = first; round <= last; ++round) {
    const auto before = std::ssize(steps);
    for (const auto number : numbers) steps.push_back({.number = number, .round = round});
    if (round % 2 == 0) std::reverse(steps.begin() + before, steps.end());
  }
  return steps;
}

void add_open(const Ranking& ranking, double precision, std::vector<ConfiguredProblem>& open) {
  for (const auto index : open_alternatives(ranking.verdict, precision)) {
    const auto& asked = ranking.alternatives[index].asked;
    if (std::ranges::find(open, asked) == open.end()) open.push_back(asked);
  }
}

std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision) {
  std::vector<ConfiguredProblem> open;
  const auto verdicts = verdicts_of(records);
  for (const auto& row : verdicts.grids) add_open(row.ranking, precision, open);
  for (const auto& choice : verdicts.choices) add_open(choice.ranking, precision, open);
  return open;
}

void repeat_step(std::vector<StudyStep>& steps, size_t index) {
  auto again = steps[index];
  ++again.attempt;
  const auto after = std::find_if(steps.begin() + static_cast<ptrdiff_t>(index), steps.end(),
                                  [&](const auto& step) { return step.round > again.round; });
  steps.insert(after, again);
}

StudyFile::StudyFile(const std::string& path, bool fresh, const std::string& maker) {
  // Unique among the studies that one report may get.
  session_ = fmt::format("{}-{}", date_now(), getpid());
  if (path.empty()) return;
  try {
    file_.emplace(path, "another sweep or scaling", fresh);
    records_ = parse_sweep(file_->text());
    for (const auto& record : records_) {
      if (record.maker.empty() || record.maker == maker) continue;
      throw InputError("its results come from another program or machine ({}; here: {})", record.maker,
                       maker);
    }
    file_->drop_cut_line();  // the first change: the file is known to be a study's
  } catch (const InputError& error) {
    throw InputError("{}: {}; --fresh starts the file anew, or name another one", path, error.what());
  }
  if (!records_.empty()) session_ = records_.front().session;
  for (const auto& record : records_) sitting_ = std::max(sitting_, record.sitting + 1);
}

void StudyFile::append(const nlohmann::ordered_json& run) {
  auto added = record_from(run);
  if (file_) {
    file_->append(json_text(run));
    file_->sync();
  }
  records_.push_back(std::move(added));
  mark_replaced(records_);
}

Study::Study(const StudyOptions& options, comm::RankGroup& group)
    : options_(options), group_(group), progress_(options.progress, group.rank()) {
  group_.waiter().set_mode(comm::WaitMode::sleep);
}

ExitCode Study::execute() {
  const auto environment = inspect_environment(group_, 1);
  plan(environment);
  prepare(environment);
  agree_on(group_, [&] {
    if (group_.rank() != 0) return;
    const auto maker = rendered([&] { return maker_of(environment); });
    file_ = std::make_unique<StudyFile>(options_.file, options_.fresh, maker);
  });
  if (group_.rank() == 0) {
    for (const auto& record : records_of_plan()) {
      if (record.purpose == RunPurpose::time)
        durations_.add(cases_[number_of(record.asked)].work, record.duration_s);
    }
  }
  return conclude(perform_rounds() && perform(extra_steps()));
}

ExitCode Study::conclude(bool is_complete) {
  if (!is_complete)
    return ended(
        ExitCode::interrupted,
        fmt::format("interrupted by a signal; the same command goes on where {} ends", options_.file));
  write_output("", group_, [&] { return view(); });
  auto code = ExitCode::success;
  if (group_.rank() == 0) {
    for (const auto& record : file_->records()) {
      if (code == ExitCode::success) code = static_cast<ExitCode>(record.exit_code);
    }
  }
  return ended(code, "some runs failed; the tables say which");
}

void Study::prepare(const Environment& environment) {
  static_cast<void>(load_profile(options_.session().profile, environment, group_));
  for (auto& one : cases_) {
    const int core_count = one.rank_count() * one.asked.configuration.thread_count;
    one.work.amount = options_.system ? 1.0 / core_count : expected_work(one.problem, core_count);
  }
  for (const auto& one : cases_) {
    if (!options_.system) break;
    agree_on_part(group_, [&] {  // before any rank turns to the next matrix, which other ranks read
      if (auto* const ranks = first_ranks(one.rank_count()))
        static_cast<void>(kept_for(system_of(one), *ranks, progress_));
    });
  }
  const auto& counters = options_.extras.counters;
  if (!options_.extras.count_events()) return;
  const auto setup = set_up_counters(wanted_events(counters, group_), counters, group_);
  if (!setup.refused.empty()) throw RunError(ExitCode::unavailable, "--papi: " + refusal_text(setup.refused));
  event_names_ = setup.counters->event_names();
}

/// Reads or generates the matrix of these options unless it is there; none for a system without one. Throws as read_system().
KeptSystem Study::kept_for(const SystemOptions& options, comm::RankGroup& ranks, const Progress& progress) {
  if (options.is_matrix_free()) return {};
  auto& matrix = matrices_[{options.matrix_text(), ranks.size(), permutation_seed_of(options)}];
  if (!matrix) {
    const auto environment =
        inspect_environment(ranks, options.configuration.thread_count, options.memory_limit_bytes);
    matrix = read_system(options, ranks, progress, [&](const ExpectedMatrix& expected) {
      agree_on(ranks, [&] {
        check_memory(environment, [&](int /*rank*/) { return expected.making_bytes / ranks.size(); });
      });
    });
  }
  // Whatever moves the vectors: the transport makes no difference to blocks.
  auto any_transport = options.configuration;
  any_transport.transport = comm::default_transport().name;
  const auto place =
      fmt::format("{} {} {}", options.matrix_text(), ranks.size(), configuration_key(any_transport));
  return {.matrix = matrix.get(), .kernel_trial = &kernel_trials_[place]};
}

/// One complete run, a failed one included. Collective over `ranks`. Throws MpiError, std::bad_alloc.
std::variant<RunDocument, SolveDocument> Study::result_of(const StudyStep& step, comm::RankGroup& ranks,
                                                          const Progress& progress) {
  const auto& one = case_of(step);
  if (options_.system) {
    const auto options = system_of(one);
    SolveReport report;
    try {
      SolveRun(options, ranks, progress, report, kept_for(options, ranks, progress)).perform();
    } catch (const RunError& error) {
      report.record_failure(error);
    }
    return SolveDocument{.options = options, .report = report};
  }
  auto options = options_.common;
  options.problem = one.problem;
  options.configuration = configuration_of(one.asked);
  options.open_grid.tries_grids = false;
  options.stops_when_asked = false;
  options.counters.reads_environment = false;
  if (step.purpose == RunPurpose::counters) options.counters = options_.extras.counters;
  options.measures_limits = step.purpose == RunPurpose::limits;
  RunReport report;
  try {
    BenchmarkRun(options, ranks, progress, report).perform();
  } catch (const RunError& error) {
    report.record_failure(error);
  }
  return RunDocument{.report = report};
}

ConfiguredProblem Study::request_of(const SweptRun& run) const {
  if (run.is_arrangement_open != leaves_arrangement_open_) return {};
  if (!leaves_arrangement_open_) return run.asked;
  auto asked = run.asked.without_arrangement();
  asked.configuration.grid = {.columns = 1, .rows = run.asked.configuration.grid.rank_count()};
  return asked;
}

size_t Study::number_of(const ConfiguredProblem& asked) const {
  return static_cast<size_t>(std::ranges::find(cases_, asked, &StudyCase::asked) - cases_.begin());
}

/// The configuration of a run, which finds a grid for itself where the request has none, or the parts of a domain.
Configuration Study::configuration_of(const ConfiguredProblem& asked) const {
  auto configuration = asked.configuration;
  if (leaves_arrangement_open_ || asked.cuts_domain()) configuration.grid = {.columns = 0, .rows = 0};
  return configuration;
}

/// The options of one run of a system.
SystemOptions Study::system_of(const StudyCase& one) const {
  const auto& asked = one.asked;
  auto options = *options_.system;
  options.operator_text = one.operator_text;
  options.configuration = configuration_of(asked);
  options.stops_when_asked = false;
  options.assembles = !one.operator_text.empty() && !asked.is_matrix_free();
  options.open_grid.tries_grids = false;
  if (asked.cuts_domain() && !asked.arrangement().empty())
    options.domain_grid = domain_grid_from(asked.arrangement());
  if (asked.is_matrix_free()) options.configuration.cut = automatic_choice;
  return options;
}

std::vector<ResultRecord> Study::records_of_plan() const {
  std::vector<ResultRecord> records;
  for (const auto& record : file_->records()) {
    const auto asked = request_of(record);
    if (number_of(asked) < cases_.size()) records.emplace_back(record).asked = asked;
  }
  return records;
}

/// 0: the run is there.
int Study::next_attempt(const StudyStep& step) const {
  const auto last = std::ranges::find_if(file_->records(), [&](const ResultRecord& record) {
    return record.round == step.round && record.purpose == step.purpose && !record.is_replaced &&
           request_of(record) == case_of(step).asked;
  });
  if (last == file_->records().end()) return 1;
  return must_repeat(*last) || lacks_events(*last) ? last->attempt + 1 : 0;
}

/// Of a run for counters: whether an earlier call counted others.
bool Study::lacks_events(const ResultRecord& record) const {
  const auto has = [&](const std::string& name) {
    return std::ranges::find(record.events, name, [](const auto& one) { return one.first; }) !=
           record.events.end();
  };
  return record.purpose == RunPurpose::counters && record.succeeded() &&
         !std::ranges::all_of(event_names_, has);
}

/// A failed run is never replaced.
bool Study::must_repeat(const ResultRecord& record) const {
  return record.succeeded() && record.is_disturbed() && record.attempt <= options_.most_retries;
}

comm::RankGroup* Study::first_ranks(int rank_count) {
  if (group_.rank() >= rank_count) return nullptr;
  auto& group = first_ranks_[rank_count];
  if (!group) group = std::make_unique<comm::RankGroup>(group_.first_ranks(rank_count));
  return group.get();
}

ExitCode Study::ended(ExitCode code, const std::string& reason) {
  if (group_.rank() != 0) code = ExitCode::success;
  if (code != ExitCode::success) say_on_stderr(reason);
  return static_cast<ExitCode>(group_.maximum(static_cast<int64_t>(code)));
}

bool Study::perform(const std::vector<StudyStep>& steps) {
  std::vector<StudyStep> missing;
  if (group_.rank() == 0) {
    for (auto step : steps) {
      step.attempt = next_attempt(step);
      if (step.attempt > 0) missing.push_back(step);
    }
    const auto present = steps.size() - missing.size();
    if (present > 0)
      progress_.say(fmt::format("{}: {} of {} runs are there already", options_.file, present, steps.size()));
  }
  steps_ = group_.gather_all(std::span<const StudyStep>(missing)).front();
  if (!watch_) watch_.emplace();
  for (size_t index = 0; index < steps_.size(); ++index) {
    if (group_.maximum(static_cast<int64_t>(watch_->asked())) != 0) return false;
    perform_step(index);
  }
  return true;
}

bool Study::perform_rounds() {
  std::vector<size_t> all(cases_.size());
  std::iota(all.begin(), all.end(), 0U);
  if (!perform(interleaved(all, 1, round_count_))) return false;
  if (!options_.until_sure) return true;
  const Stopwatch added;
  do {
    std::vector<StudyStep> more;
    if (group_.rank() == 0) more = more_rounds(*options_.until_sure, added.seconds());
    if (!perform(more)) return false;
  } while (!steps_.empty());
  return true;
}

std::vector<StudyStep> Study::extra_steps() const {
  std::vector<StudyStep> steps;
  const auto add_all = [&](RunPurpose purpose) {
    for (size_t number = 0; number < cases_.size(); ++number)
      steps.push_back({.number = number, .purpose = purpose});
  };
  if (options_.extras.count_events()) add_all(RunPurpose::counters);
  if (options_.extras.measures_limits) add_all(RunPurpose::limits);
  return steps;
}

/// On rank 0.
std::vector<StudyStep> Study::more_rounds(const UntilSure& until_sure, double spent_s) const {
  std::vector<size_t> open;
  for (const auto& asked : undecided(until_sure.precision)) open.push_back(number_of(asked));
  if (open.empty()) return {};
  std::ranges::sort(open);
  int last = 0;
  for (const auto& record : records_of_plan()) {
    const bool is_open = std::ranges::binary_search(open, number_of(record.asked));
    if (is_open && record.purpose == RunPurpose::time) last = std::max(last, record.round);
  }
  const double round_s = std::max(1e-3, expected_s(interleaved(open)).value_or(0.0));
  const auto affordable =
      static_cast<int>(std::floor(std::clamp((until_sure.budget_s - spent_s) / round_s, 0.0, 1e6)));
  if (affordable == 0) progress_.warn("--budget is spent; the table says what is not distinguishable");
  return interleaved(open, last + 1, std::min(rounds_after_next_block(last, open.size()), last + affordable));
}

void Study::perform_step(size_t index) {
  const auto step = steps_[index];
  const auto& work = case_of(step).work;
  const bool is_timed = step.purpose == RunPurpose::time;
  const auto place =
      fmt::format("run {} of {} ({}, {})", index + 1, steps_.size(), work.key,
                  is_timed ? fmt::format("round {}", step.round)
                           : fmt::format("for {}", name_in(words_of(step.purpose), step.purpose)));
  progress_.begin(place);
  expect_from(index);
  bool is_repeated = false;
  std::optional<std::variant<RunDocument, SolveDocument>> result;  // on the ranks of the run
  const Stopwatch watch;
  if (auto* const ranks = first_ranks(case_of(step).rank_count()))
    result = result_of(step, *ranks, Progress(ProgressMode::quiet, group_.rank()));
  const double duration_s = watch.seconds();
  agree_on(group_, [&] {
    if (group_.rank() != 0) return;
    const auto complete = [&](auto& document) {
      const auto& report = document.report;
      if (ends_when_refused_ && (report.code == ExitCode::usage || report.code == ExitCode::unavailable))
        throw RunError(report.code, report.reason);
      auto& swept = document.sweep.emplace(SweptRun{.asked = case_of(step).asked,
                                                    .round = step.round,
                                                    .round_count = std::max(round_count_, step.round),
                                                    .attempt = step.attempt,
                                                    .duration_s = duration_s,
                                                    .session = file_->session(),
                                                    .sitting = file_->sitting(),
                                                    .purpose = step.purpose,
                                                    .is_arrangement_open = leaves_arrangement_open_});
      if (leaves_arrangement_open_ && report.configuration.has_grid())  // unless it failed before
        swept.asked.configuration.grid = report.configuration.grid;
      if constexpr (requires { report.problem; }) {
        swept.problem_class = report.problem.class_name;
      } else if (leaves_arrangement_open_ && swept.asked.cuts_domain() && report.matrix_free) {
        swept.asked.form = report.matrix_free->arrangement;
      }
      return json_of(document);
    };
    file_->append(rendered([&] { return std::visit(complete, *result); }));
    const auto& record = file_->records().back();
    is_repeated = must_repeat(record);
    if (is_timed) durations_.add(work, record.duration_s);
    expect_from(index + 1);
    progress_.say(fmt::format(
        "{}: {}{}", place,
        record.succeeded() ? fmt::format("{:.4g} s", record.time_s) : record.status + ": " + record.reason,
        record.is_disturbed() ? fmt::format(", disturbed ({})", record.disturbance) : ""));
  });
  if (group_.maximum(static_cast<int64_t>(is_repeated)) != 0) repeat_step(steps_, index);
}

/// Seconds of these steps; nothing before the first run of the study.
std::optional<double> Study::expected_s(std::span<const StudyStep> steps) const {
  double seconds = 0.0;
  for (const auto& step : steps) {
    const auto one = durations_.expected(case_of(step).work);
    if (!one) return std::nullopt;
    seconds += *one;
  }
  return seconds;
}

void Study::expect_from(size_t index) const {
  if (group_.rank() != 0) return;
  if (const auto rest = expected_s(std::span(steps_).subspan(index))) progress_.expect(*rest);
}

}  // namespace cg2d
