#include "cg/commands/shared_options.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "cg/base/describe.hpp"
#include "cg/base/storage/folders.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {

std::int64_t byte_count_from(const std::string& option, const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), lower_letter);
  std::string_view rest(lower);
  const auto drop_last = [&](char letter) {
    const bool found = rest.ends_with(letter);
    if (found) rest.remove_suffix(1);
    return found;
  };
  drop_last('b');
  const bool is_binary = drop_last('i');
  constexpr std::string_view prefixes = "kmgtp";
  const auto prefix = rest.empty() ? std::string_view::npos : prefixes.find(rest.back());
  double unit = 1.0;
  if (prefix != std::string_view::npos) {
    rest.remove_suffix(1);
    unit = std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(prefix + 1));
  }
  const bool lacks_prefix = is_binary && prefix == std::string_view::npos;  // "8iB"
  const auto number = number_from<double>(rest);
  constexpr double largest = 9e18;  // within 63 bits
  if (lacks_prefix || !number || !(*number * unit >= 1.0 && *number * unit <= largest))
    throw InputError("{}: \"{}\" is not a size, such as 8GB or 512MiB", option, text);
  return static_cast<std::int64_t>(*number * unit);
}

std::vector<std::string> class_letters() {
  std::vector<std::string> letters;
  for (const auto& problem : problem_classes()) letters.push_back(problem.class_name);
  return letters;
}

Problem problem_class(const std::string& letter) {
  if (const auto* const known = find_class(letter)) return *known;
  refuse_unknown("--class", letter, class_letters());
}

void add_classes_option(OptionSet& options, std::vector<Problem>& problems, const std::string& standing) {
  options.add_list({"--class", one_of(class_letters()), "classes, such as A or A,B", standing}, problems,
                   &problem_class);
}

comm::ProcessGrid named_grid_from(const std::string& command, const std::string& text) {
  if (const auto grid = grid_from(text)) return *grid;
  throw InputError("--grid auto: {} takes named grids, or all of them without --grid", command);
}

void add_grids_option(OptionSet& options, NamedGrids& grids, const std::string& command) {
  options.add_texts({"--grid", "PXxPY|official", "grids, such as 1x4,2x2", "all of the ranks"}, true,
                    [&grids, command](OptionSet::Texts texts) {
                      grids.has_official = std::erase(texts, "official") > 0;
                      for (const auto& text : texts) grids.grids.push_back(named_grid_from(command, text));
                    });
}

void add_profile_options(OptionSet& options, ProfileSource& profile, const std::string& help,
                         const std::string& help_without) {
  options.add({"--profile", "FILE", help, "the user's"}, profile.path, {.file = FileUse::updates});
  options.add_flag("--no-profile", help_without, [&profile] { profile.is_used = false; });
}

void add_keep_disturbed_option(OptionSet& options, ProfileSource& profile) {
  options.add_flag(
      "--keep-disturbed",
      "with --transport auto or --cut speed: keep the measurement also where other load disturbed it",
      profile.keeps_disturbed);
}

namespace {

bool has_value(const AxisValues& values, std::string_view axis, std::string_view value) {
  const auto found = values.find(axis);
  return found != values.end() && std::ranges::count(found->second, value) > 0;
}

}  // namespace

bool tries_transports(const AxisValues& values) { return has_value(values, "transport", automatic_choice); }
bool measures_speeds(const AxisValues& values) { return has_value(values, "cut", speed_cut); }

void resolve_profile(ProfileSource& profile, bool measures) {
  profile.may_be_new = measures;
  if (!profile.is_used && !profile.path.empty())
    throw InputError("--no-profile and --profile contradict each other: give one of them");
  if (profile.keeps_disturbed && !measures)
    throw InputError(
        "--keep-disturbed: goes with --transport auto or --cut speed only, whose measurement it keeps");
}

void add_memory_limit_option(OptionSet& options, std::int64_t& bytes) {
  options.add({"--memory-limit", "SIZE",
               "memory that a node's ranks may take, such as 8GB or 512MiB, whatever the system says is free",
               "free memory"},
              bytes, &byte_count_from);
}

void add_bind_option(OptionSet& options, BindMode& bind) {
  options.add({"--bind", "auto|none",
               "bind threads to cores; auto: several threads of a rank each to a core of its own", "auto"},
              bind, &bind_mode_from);
}

void add_host_name_option(OptionSet& options, bool& names_hosts) {
  options.add_flag("--hostname", "name hosts in the result; otherwise they are node 0, node 1, ...",
                   names_hosts);
}

void add_out_of_core_option(OptionSet& options, std::vector<std::string>& folders, const std::string& help,
                            const std::string& standing) {
  options.add({"--out-of-core", "DIR,...", help, standing}, folders, &folders_from,
              {.file = FileUse::folder});
}

void add_rounds_option(OptionSet& options, std::optional<int>& round_count) {
  options.add(
      {"--repeat,--rounds", "N", "runs of each configuration, interleaved", "as many as the verdict needs"},
      round_count, {.most = any_count});
}

void add_until_sure_options(OptionSet& options, std::optional<UntilSure>& until_sure,
                            const std::string& subject) {
  options.add(
      {"--until-sure", "PERCENT",
       fmt::format("add rounds until {} is sure, or known to be within this of the others, such as 2%",
                   subject)},
      until_sure, [](const std::string& text) {
        const auto precision = percentage_from(text);
        if (!precision || *precision <= 0.0)
          throw InputError("--until-sure {}: must be a percentage above 0, such as 2%", text);
        return UntilSure{.precision = *precision};
      });
  options.add_texts(
      {"--budget", "TIME", "time for the rounds that --until-sure adds, such as 90s, 10min or 2h", "10min"},
      false, [&until_sure](const OptionSet::Texts& texts) {
        until_sure->budget_s = seconds_from("--budget", texts.front());
      });
  options.require_with("--budget", "--until-sure");
}

void add_format_option(OptionSet& options, std::string& format, const std::vector<std::string>& names) {
  options.add({"--format", one_of(names), "form of the result"}, format);
}

void add_result_options(OptionSet& options, std::string& format, const std::vector<std::string>& names,
                        std::string& output) {
  add_format_option(options, format, names);
  options.add({"--output", "FILE", "write the result to FILE, atomically", "standard output"}, output,
              {.file = FileUse::writes});
}

void add_machine_option(OptionSet& options, std::string& machine, const std::string& standing, FileUse use) {
  options.add(
      {"--machine", "NAME|FILE",
       fmt::format("a machine that comes with cg2d ({}) or a description file", shipped_machine_names()),
       standing},
      machine, {.file = use});
}

void add_files_argument(OptionSet& options, std::vector<std::string>& files, const std::string& help) {
  options.add_list({"FILE", "FILE", help}, files, {.file = FileUse::reads, .is_required = true});
}

void add_label_option(OptionSet& options, std::vector<std::string>& labels, const std::string& standing) {
  options.add_list({"--label", "NAME", "names of the sets, in their order", standing}, labels,
                   [](const std::string& option, const std::string& text) {
                     if (text.empty() || text_in_json(text) != text)
                       throw InputError("{}: a name is text without control characters", option);
                     return text;
                   });
}

void add_progress_options(OptionSet& options, ProgressMode& mode) {
  options.add_flag("--progress",
                   "progress on stderr in plain lines (a terminal shows it anyway, on one line)",
                   [&mode] { mode = ProgressMode::always; });
  options.add_flag("--quiet", "no progress and no warnings on stderr, only errors",
                   [&mode] { mode = ProgressMode::quiet; });
  options.exclude("--quiet", "--progress");
}

void add_event_options(OptionSet& options, CounterOptions& counters, const std::string& standing) {
  options.add({"--papi", "EVENT,...",
               fmt::format("count these events per phase, such as perf::TASK-CLOCK,PAPI_TOT_INS, or groups "
                           "of them: {} (cg2d events lists them)",
                           fmt::join(group_names(), ", ")),
               standing},
              counters.events, [](const std::string& text) {
                if (text.empty()) throw InputError("--papi: the name of the event is empty");
                static_cast<void>(event_names_from(text, "--papi"));
                return text;
              });
  options.add_flag("--papi-multiplex",
                   "count more events than the processor can at a time: in turns, with estimated totals",
                   counters.multiplexed);
}

void add_limits_option(OptionSet& options, bool& measures_limits) {
  options.add_flag(
      "--roofline",
      "measure the memory bandwidth and flops of this machine, and the share that each phase reaches",
      measures_limits);
}

void add_trace_steps_option(OptionSet& options, int& step_count, const std::string& trace) {
  options.add({"--trace-steps", "N", "CG steps in the trace, from the first one on"}, step_count,
              {.most = TraceOptions::most_steps});
  options.require_with("--trace-steps", trace);
}

namespace {

OptionRow row_of_axis(const ConfigurationAxis& axis, std::string_view help) {
  return {std::string(axis.option), axis.values.empty() ? std::string(axis.value_form) : one_of(axis.values),
          std::string(help), axis.standing.empty() ? axis.print({}) : std::string(axis.standing)};
}

}  // namespace

void add_axis_option(OptionSet& options, std::string_view axis, Configuration& configuration,
                     std::string_view help, std::string_view standing) {
  const auto& described = configuration_axis(axis);
  auto row = row_of_axis(described, help.empty() ? described.help : help);
  if (!standing.empty()) row.standing = standing;
  options.add_texts(row, false, [&](const auto& texts) { described.parse(configuration, texts.front()); });
}

void add_axis_list(OptionSet& options, std::string_view axis, AxisValues& values, std::string_view standing) {
  const auto& described = configuration_axis(axis);
  auto row = row_of_axis(described, described.list_help);
  if (!standing.empty()) row.standing = standing;
  options.add_texts(row, true, [&list = values[std::string(axis)]](const auto& texts) { list = texts; });
}

void add_axis_lists(OptionSet& options, AxisValues& values) {
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed()) add_axis_list(options, axis.name, values);
  }
}

void add_class_option(OptionSet& options, std::string& letter, const std::string& help,
                      const std::string& standing) {
  options.add({"--class", one_of(class_letters()), help, standing}, letter);
}

void add_order_option(OptionSet& options, ProblemArguments& arguments, const std::string& help) {
  options.add({"--n", "N", help, "the class's"}, arguments.n);
}

void add_problem_options(OptionSet& options, ProblemArguments& arguments) {
  const std::string standing = "the class's";
  add_order_option(options, arguments, "order of the matrix");
  options.add({"--nonzer", "N", "nonzeros of each random vector", standing}, arguments.nonzer);
  options.add({"--shift", "X", "shift of the diagonal (lambda)", standing}, arguments.shift);
  options.add({"--niter", "N", "outer iterations", standing}, arguments.niter);
  options.add({"--reference", "X", "zeta to verify against", standing}, arguments.reference_zeta);
}

Problem problem_from(const std::string& command, const ProblemArguments& arguments) {
  Problem problem;
  problem.class_name = "U";
  if (!arguments.class_letter.empty()) {
    problem = problem_class(arguments.class_letter);
  } else {
    std::vector<std::string> missing;
    if (!arguments.n) missing.emplace_back("--n");
    if (!arguments.nonzer) missing.emplace_back("--nonzer");
    if (!arguments.shift) missing.emplace_back("--shift");
    if (!arguments.niter) missing.emplace_back("--niter");
    if (!missing.empty())
      throw InputError("{}: which problem? give --class, or the missing {}", command,
                       fmt::join(missing, " "));
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

}  // namespace cg2d
