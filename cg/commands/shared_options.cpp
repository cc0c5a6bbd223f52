#include "cg/commands/shared_options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/solver/outer_iteration.hpp"
#include "cg/timing/event_groups.hpp"

namespace cg2d {
namespace {

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes.
std::optional<std::int64_t> byte_count_from(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), lower_letter);
  std::string_view rest(text);
  const auto drop_last = [&](char letter) {
    const bool found = rest.ends_with(letter);
    if (found) rest.remove_suffix(1);
    return found;
  };
  drop_last('b');
  const double step = drop_last('i') ? 1024.0 : 1000.0;
  constexpr std::string_view prefixes = "kmgtp";
  const auto prefix = rest.empty() ? std::string_view::npos : prefixes.find(rest.back());
  double unit = 1.0;
  if (prefix != std::string_view::npos) {
    rest.remove_suffix(1);
    unit = std::pow(step, static_cast<double>(prefix + 1));
  } else if (step == 1024.0) {
    return std::nullopt;
  }
  const auto number = number_from<double>(rest);
  constexpr double largest = 9e18;  // within 63 bits
  if (!number || !(*number * unit >= 1.0 && *number * unit <= largest)) return std::nullopt;
  return static_cast<std::int64_t>(*number * unit);
}

/// The values of an axis, as the help shows them.
std::string type_name_of(const ConfigurationAxis& axis) {
  return axis.values == nullptr ? "N" : type_of_values(axis.values());
}

}  // namespace

CLI::Validator byte_count() {
  return {[](std::string& text) {
            const auto value = byte_count_from(text);
            if (!value) return fmt::format("\"{}\" is not a size, such as 8GB or 512MiB", text);
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

std::vector<std::string> class_letters() {
  std::vector<std::string> letters;
  for (const auto& problem : problem_classes()) letters.push_back(problem.class_name);
  return letters;
}

Problem problem_class(const std::string& letter) {
  if (const auto known = class_named(letter)) return *known;
  refuse_unknown("--class", letter, class_letters());
}

std::vector<Problem> problem_classes(const std::vector<std::string>& letters,
                                     const std::vector<std::string>& usual) {
  std::vector<Problem> problems;
  for (const auto& letter : letters.empty() ? usual : letters) problems.push_back(problem_class(letter));
  return problems;
}

NamedGrids named_grids_from(const std::string& command, std::vector<std::string> texts) {
  NamedGrids named;
  named.has_official = std::erase(texts, "official") > 0;
  named.grids = named_grids(command, texts);
  return named;
}

std::vector<comm::ProcessGrid> named_grids(const std::string& command,
                                           const std::vector<std::string>& texts) {
  std::vector<comm::ProcessGrid> grids;
  for (const auto& text : texts) {
    const auto grid = grid_from(text);
    if (!grid) {
      throw InputError(
          fmt::format("--grid auto: {} takes named grids, or all of them without --grid", command));
    }
    grids.push_back(*grid);
  }
  return grids;
}

CLI::Option* add_file_option(CLI::App& parser, const std::string& name, FileUse use, std::string& path,
                             const std::string& help) {
  return parser.add_option(name, path, help)->check(file_name(use))->type_name("FILE");
}

ProfileOptionTexts profile_is_used() {
  return {.profile = "tuning profile to use instead of the default one (cg2d tune)",
          .no_profile = "use no tuning profile"};
}

void add_profile_options(CLI::App& parser, ProfileSource& profile, const ProfileOptionTexts& texts) {
  add_file_option(parser, "--profile", FileUse::updates, profile.path, texts.profile)
      ->default_str("the user's");
  parser.add_flag_callback(
      "--no-profile", [&profile] { profile.is_used = false; }, texts.no_profile);
}

void add_keep_disturbed_option(CLI::App& parser, ProfileSource& profile) {
  parser.add_flag("--keep-disturbed", profile.keeps_disturbed,
                  "with --transport auto: keep its measurement also where other load disturbed it");
}

void add_symmetrize_option(CLI::App& parser, std::optional<double>& tolerance) {
  add_number_option(parser, "--symmetrize", tolerance,
                    "take the mean of mirrored entries of FILE that differ by at most TOL sqrt(a_ii a_jj)")
      ->type_name("TOL")
      ->default_str("they must be equal");
}

void check_symmetrize_option(std::optional<double> tolerance, bool has_file) {
  if (!tolerance) return;
  if (!has_file) throw InputError("--symmetrize: only with FILE");
  if (!(*tolerance > 0.0 && *tolerance < 1.0))
    throw InputError(fmt::format("--symmetrize {}: must be greater than 0 and less than 1", *tolerance));
}

void add_memory_limit_option(CLI::App& parser, std::int64_t& bytes) {
  parser.add_option("--memory-limit", bytes, "memory that a node's ranks may take, such as 8GB or 512MiB")
      ->transform(byte_count())
      ->type_name("SIZE")
      ->default_str("free memory");
}

void add_format_option(CLI::App& parser, std::string& format, const std::vector<std::string>& names) {
  parser.add_option("--format", format, "form of the result")->type_name(type_of_values(names));
}

void add_until_sure_options(CLI::App& parser, UntilSureArguments& arguments, const std::string& subject) {
  parser
      .add_option(
          "--until-sure", arguments.precision,
          fmt::format("add rounds until {} is sure, or known to be within this of the others, such as 2%",
                      subject))
      ->type_name("PERCENT");
  parser
      .add_option("--budget", arguments.budget,
                  "time for the rounds that --until-sure adds, such as 90s, 10min or 2h")
      ->type_name("TIME")
      ->needs(parser.get_option("--until-sure"));
}

std::optional<UntilSure> until_sure_from(const UntilSureArguments& arguments) {
  const double budget_s = seconds_from("--budget", arguments.budget);
  if (arguments.precision.empty()) return std::nullopt;
  const auto precision = percentage_from(arguments.precision);
  if (!precision || *precision <= 0.0)
    throw InputError(
        fmt::format("--until-sure {}: must be a percentage above 0, such as 2%", arguments.precision));
  return UntilSure{.precision = *precision, .budget_s = budget_s};
}

void add_bind_option(CLI::App& parser, std::string& word) {
  parser
      .add_option("--bind", word,
                  "bind threads to cores; auto: several threads of a rank each to a core of its own")
      ->type_name(type_of_values({"auto", "none"}));
}

void add_detail_options(CLI::App& parser, TextDetail& detail) {
  parser.add_flag("--verbose", detail.is_verbose, "print everything that is known about the result");
  parser.add_flag("--clocks", detail.shows_clocks,
                  "phase table in reference clocks, with their spread over the ranks");
}

void add_progress_options(CLI::App& parser, ProgressMode& mode) {
  auto* const shown = parser.add_flag_callback(
      "--progress", [&mode] { mode = ProgressMode::always; },
      "progress on stderr in plain lines (a terminal shows it anyway, on one line)");
  parser
      .add_flag_callback(
          "--quiet", [&mode] { mode = ProgressMode::quiet; },
          "no progress and no warnings on stderr, only errors")
      ->excludes(shown);
}

void add_host_name_option(CLI::App& parser, bool& names_hosts) {
  parser.add_flag("--hostname", names_hosts,
                  "name hosts in the result; otherwise they are node 0, node 1, ...");
}

void exclude_others(CLI::App& parser, const std::string& name, const std::vector<std::string>& allowed) {
  auto* const asking = parser.get_option(name);
  for (auto* const option : parser.get_options([](CLI::Option* /*any*/) { return true; })) {
    const auto has_name = [&](const std::string& other) { return option->check_name(other); };
    const bool is_general = !option->get_configurable();  // --help
    if (option != asking && !is_general && std::ranges::none_of(allowed, has_name)) asking->excludes(option);
  }
}

void check_tuning(const kernels::Tuning& tuning, const Configuration& configuration) {
  require_not_negative("--cvl", tuning.critical_vector_length);
  require_not_negative("--prefetch", tuning.prefetch_distance);
  if (const auto width = tuning.block_width; width && !kernels::is_block_width(*width))
    throw InputError(fmt::format("--block-width {}: must be a power of two within 64 ... 65536", *width));
  // The critical vector length counts for every kernel: the report says how many rows are shorter.
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr) return;
  using Member = std::optional<int> kernels::Tuning::*;
  for (const auto& [option, member] :
       {std::pair<std::string_view, Member>("--prefetch", &kernels::Tuning::prefetch_distance),
        std::pair<std::string_view, Member>("--block-width", &kernels::Tuning::block_width)}) {
    if (!(tuning.*member) || kernel->defaults.*member) continue;
    throw InputError(fmt::format("{}: --kernel {} has no such setting; leave it out", option, kernel->name));
  }
}

void settle_profile(ProfileSource& profile, bool tries_transports) {
  profile.may_be_new = tries_transports;
  if (!profile.is_used && !profile.path.empty())
    throw InputError("--no-profile and --profile contradict each other: give one of them");
  if (profile.keeps_disturbed && !tries_transports)
    throw InputError("--keep-disturbed: goes with --transport auto only, whose measurement it keeps");
}

void add_axis_option(CLI::App& parser, std::string_view axis, AxisValues& values, const std::string& help) {
  const auto& row = configuration_axis(axis);
  auto* const option =
      parser
          .add_option_function<std::string>(
              std::string(row.option),
              [&list = values[std::string(axis)]](const std::string& text) { list = {text}; },
              help.empty() ? std::string(row.help) : help)
          ->type_name(type_name_of(row));
  option->default_str(row.print({}));
}

void add_axis_options(CLI::App& parser, AxisValues& values) {
  for (const auto& axis : configuration_axes()) add_axis_option(parser, axis.name, values);
}

bool has_values(const AxisValues& values, std::string_view axis) {
  const auto found = values.find(axis);
  return found != values.end() && !found->second.empty();
}

void add_axis_lists(CLI::App& parser, AxisValues& values) {
  for (const auto& axis : configuration_axes()) {
    if (!axis.is_crossed()) continue;
    parser.add_option(std::string(axis.option), values[std::string(axis.name)], std::string(axis.list_help))
        ->delimiter(',')
        ->type_name(type_name_of(axis))
        ->default_str(axis.print({}));
  }
}

Configuration configuration_from(const AxisValues& values, const Configuration& common) {
  auto configuration = crossed(common, values).front();
  check_configuration(configuration);
  return configuration;
}

void add_problem_options(CLI::App& parser, ProblemArguments& arguments) {
  add_number_option(parser, "--n", arguments.n, "order of the matrix")->default_str("the class's");
  add_number_option(parser, "--nonzer", arguments.nonzer, "nonzeros of each random vector")
      ->default_str("the class's");
  add_number_option(parser, "--shift", arguments.shift, "shift of the diagonal (lambda)")
      ->default_str("the class's");
  add_number_option(parser, "--niter", arguments.niter, "outer iterations")->default_str("the class's");
  add_number_option(parser, "--reference", arguments.reference_zeta, "zeta to verify against")
      ->default_str("the class's");
}

Problem problem_from(const std::string& command, const std::string& class_letter,
                     const ProblemArguments& arguments) {
  Problem problem;
  problem.class_name = "U";
  if (!class_letter.empty()) {
    problem = problem_class(class_letter);
  } else {
    std::vector<std::string> missing;
    if (!arguments.n) missing.emplace_back("--n");
    if (!arguments.nonzer) missing.emplace_back("--nonzer");
    if (!arguments.shift) missing.emplace_back("--shift");
    if (!arguments.niter) missing.emplace_back("--niter");
    if (!missing.empty()) {
      throw InputError(fmt::format("{}: which problem? give --class, or the missing {}", command,
                                   fmt::join(missing, " ")));
    }
  }
  const auto numbers = [&] { return std::tuple(problem.n, problem.nonzer, problem.niter, problem.shift); };
  const auto of_class = numbers();
  problem.n = arguments.n.value_or(problem.n);
  problem.nonzer = arguments.nonzer.value_or(problem.nonzer);
  problem.niter = arguments.niter.value_or(problem.niter);
  problem.shift = arguments.shift.value_or(problem.shift);
  if (numbers() != of_class) {  // the class's own numbers leave it what it is
    problem.class_name = "U";
    problem.reference_zeta.reset();
  }
  if (arguments.reference_zeta) {
    if (*arguments.reference_zeta == 0.0)
      throw InputError("--reference 0: must not be zero, since zeta is compared with it in relative terms");
    problem.reference_zeta = arguments.reference_zeta;
  }
  check_problem(problem);
  return problem;
}

CLI::Option* add_event_option(CLI::App& parser, CounterOptions& counters) {
  auto* const option = parser
                           .add_option("--papi", counters.events,
                                       fmt::format("count these events per phase, such as "
                                                   "perf::TASK-CLOCK,PAPI_TOT_INS, or groups of them: {} "
                                                   "(cg2d events lists them)",
                                                   fmt::join(group_names(), ", ")))
                           ->check([](const std::string& text) {
                             return text.empty() ? "the name of the event is empty" : "";
                           })
                           ->type_name("EVENT,...");
  parser.add_flag("--papi-multiplex", counters.multiplexed,
                  "count more events than the processor can at a time: in turns, with estimated totals");
  return option;
}

void add_limits_option(CLI::App& parser, bool& measures_limits) {
  parser.add_flag(
      "--roofline", measures_limits,
      "measure the memory bandwidth and flops of this machine, and the share that each phase reaches");
}

void add_trace_steps_option(CLI::App& parser, TraceOptions& trace) {
  add_number_option(parser, "--trace-steps", trace.step_count,
                    "CG steps in the trace, from the first one on");
}

void add_counter_options(CLI::App& parser, const CounterArguments& arguments) {
  auto& counters = arguments.counters;
  parser.option_defaults()->group("Counters and traces");
  add_event_option(parser, counters)->default_str("PAPI_EVENTS of the environment, or none");
  parser.add_flag("--papi-strict", counters.strict, "end with 69 if one of the events cannot be counted");
  add_limits_option(parser, arguments.measures_limits);
  auto* const trace =
      add_file_option(parser, "--trace", FileUse::writes, arguments.trace.path,
                      "write a time line of every phase to FILE (Chrome-trace JSON); -: to standard "
                      "output, instead of the report");
  add_trace_steps_option(parser, arguments.trace);
  parser.get_option("--trace-steps")->needs(trace);
}

void check_counter_options(const CounterOptions& counters, const TraceOptions& trace) {
  if (!counters.events.empty()) static_cast<void>(event_names_from(counters.events, "--papi"));
  if (counters.events.empty() && !counters.reads_environment) refuse_ways_to_count(counters);
  require_within("--trace-steps", trace.step_count, TraceOptions::most_steps);
}

}  // namespace cg2d
