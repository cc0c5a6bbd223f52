#include "cg/commands/shared_options.hpp"

#include <tuple>

#include "cg/base/storage/unnamed_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {
namespace {

std::vector<std::string> class_letters() {
  std::vector<std::string> letters;
  for (const auto& problem : problem_classes()) letters.push_back(problem.class_name);
  return letters;
}

}  // namespace

int64_t byte_count_from(const std::string& option, const std::string& text) {
  const auto digit_count = text.find_last_of("0123456789.") + 1;  // 0 without any
  auto prefix = text.substr(digit_count);
  std::ranges::transform(prefix, prefix.begin(), lower_letter);
  if (prefix.ends_with('b')) prefix.pop_back();
  const bool is_binary = prefix.size() == 2 && prefix.back() == 'i';
  if (is_binary) prefix.pop_back();
  constexpr std::string_view prefixes = "kmgtp";
  const auto place = prefixes.find(prefix);
  const bool is_known = prefix.size() <= 1 && place != std::string_view::npos;
  const auto power = prefix.empty() ? 0.0 : static_cast<double>(place + 1);
  const auto bytes = number_from<double>(text.substr(0, digit_count)).value_or(0.0) *
                     std::pow(is_binary ? 1024.0 : 1000.0, power);
  constexpr double largest = 9e18;  // within 63 bits
  if (!is_known || !(bytes >= 1.0 && bytes <= largest))
    throw InputError("{}: \"{}\" is not a size, such as 8GB or 512MiB", option, text);
  return static_cast<int64_t>(bytes);
}

Problem problem_class(const std::string& letter) {
  if (const auto* const known = find_class(letter)) return *known;
  refuse_unknown("--class", letter, class_letters());
}

void add_classes_option(Subcommand& command, std::vector<Problem>& problems, const std::string& letter,
                        const std::string& note, Problem* last) {
  problems = {problem_class(letter)};
  command.add("--class " + one_of(class_letters()), "classes, such as A or A,B", problems,
              [last](const std::string& text) {
                auto problem = problem_class(text);
                if (last != nullptr) *last = problem;
                return problem;
              },
              {.standing = letter + note});
}

comm::ProcessGrid named_grid_from(const std::string& command, const std::string& text) {
  if (const auto grid = grid_from(text)) return *grid;
  throw InputError("--grid auto: {} takes named grids, or all of them without --grid", command);
}

void add_grid_option(Subcommand& command, OpenGridOptions& open, Configuration& configuration,
                     const std::string& help) {
  const auto take = [&](const Subcommand::Texts& texts) {
    const auto& text = texts.front();
    open.is_official = text == "official";
    open.tries_grids = text == "auto";
    if (text == "official" || text == "rule") return;
    if (const auto grid = grid_from(text, ", or auto, rule or official")) configuration.grid = *grid;
  };
  command.add_texts("--grid auto|rule|official|PXxPY", help, take, {.standing = "auto"});
}

void add_grids_option(Subcommand& command, NamedGrids& grids, const std::string& name) {
  command.add_texts("--grid PXxPY|official", "grids, such as 1x4,2x2",
                    [&grids, name](Subcommand::Texts texts) {
                      grids.has_official = std::erase(texts, "official") > 0;
                      for (const auto& text : texts) grids.grids.push_back(named_grid_from(name, text));
                    },
                    {.standing = "all of the ranks", .is_list = true});
}

void add_keep_disturbed_option(Subcommand& command, ProfileSource& profile) {
  command.add("--keep-disturbed",
              "with --transport auto or --cut speed: keep the measurement also where other load disturbed it",
              profile.keeps_disturbed);
}

void resolve_profile(ProfileSource& profile, bool measures) {
  profile.may_be_new = measures;
  if (profile.keeps_disturbed && !measures)
    throw InputError(
        "--keep-disturbed: goes with --transport auto or --cut speed only, whose measurement it keeps");
  if (profile.keeps_disturbed && !profile.is_used)
    throw InputError("--keep-disturbed: nothing is kept with --no-profile; leave one of them out");
}

void add_memory_limit_option(Subcommand& command, int64_t& bytes) {
  command.add("--memory-limit SIZE",
              "memory that a node's ranks may take, such as 8GB or 512MiB, whatever the system says is free",
              bytes, &byte_count_from, {.standing = "free memory"});
}

void add_bind_option(Subcommand& command, BindMode& bind) {
  command.add("--bind auto|none",
              "bind threads to cores; auto: several threads of a rank each to a core of its own", bind,
              &bind_mode_from, {.standing = "auto"});
}

void add_session_options(Subcommand& command, SessionOptions& session) {
  command.add("--profile FILE", "tuning profile to use instead of the default one (cg2d tune)",
              session.profile.path, {.standing = "the user's", .file = FileUse::updates});
  command.add("--no-profile", "use no tuning profile", session.profile.is_used);
  command.exclude("--profile", "--no-profile");
  add_memory_limit_option(command, session.memory_limit_bytes);
  command.add("--hostname", "name hosts in the result; otherwise they are node 0, node 1, ...",
              session.names_hosts);
}

void add_result_options(Subcommand& command, std::string& format, const std::vector<std::string>& names,
                        std::string& output) {
  command.add("--format " + one_of(names), "form of the result", format);
  command.add("--output FILE", "write the result to FILE, atomically", output,
              {.standing = "standard output", .file = FileUse::writes});
}

void add_progress_options(Subcommand& command, ProgressMode& mode) {
  command.add_texts("--progress",
                    "progress on stderr in plain lines (a terminal shows it anyway, on one line)",
                    [&mode](const auto& /*texts*/) { mode = ProgressMode::always; });
  command.add_texts("--quiet", "no progress and no warnings on stderr, only errors",
                    [&mode](const auto& /*texts*/) { mode = ProgressMode::quiet; });
  command.exclude("--quiet", "--progress");
}

void add_event_options(Subcommand& command, CounterOptions& counters, bool& measures_limits,
                       const std::string& standing) {
  command.add("--papi EVENT,...",
              fmt::format("count these events per phase, such as perf::TASK-CLOCK,PAPI_TOT_INS, or groups "
                          "of them: {} (cg2d events lists them)",
                          fmt::join(group_names(), ", ")),
              counters.events,
              [](const std::string& text) {
                if (text.empty()) throw InputError("--papi: the name of the event is empty");
                static_cast<void>(event_names_from(text, "--papi"));
                return text;
              },
              {.standing = standing});
  command.add("--papi-multiplex",
              "count more events than the processor can at a time: in turns, with estimated totals",
              counters.multiplexed);
  command.add("--roofline",
              "measure the memory bandwidth and flops of this machine, and the share that each phase reaches",
              measures_limits);
}

namespace {

/// Without a default that it stands for: that of the table.
void add_axis(Subcommand& command, const ConfigurationAxis& axis, std::string_view help,
              std::function<void(const Subcommand::Texts& texts)> take, OptionTraits traits) {
  const auto kind = axis.values.empty() ? std::string(axis.value_form) : one_of(axis.values);
  if (traits.standing.empty()) traits.standing = axis.standing;
  if (traits.standing.empty()) traits.standing = axis.print({});
  command.add_texts(fmt::format("{} {}", axis.option, kind), std::string(help), std::move(take), traits);
}

}  // namespace

void add_axis_option(Subcommand& command, std::string_view axis, Configuration& configuration,
                     std::string_view help, std::string_view standing) {
  const auto& row = configuration_axis(axis);
  add_axis(command, row, help.empty() ? row.help : help,
           [&](const auto& texts) { row.parse(configuration, texts.front()); },
           {.standing = std::string(standing)});
}

void add_axis_list(Subcommand& command, std::string_view axis, AxisValues& values,
                   std::string_view standing) {
  const auto& row = configuration_axis(axis);
  add_axis(command, row, fmt::format("{}; several are compared", row.help),
           [&list = values[std::string(axis)]](const auto& texts) { list = texts; },
           {.standing = std::string(standing), .is_list = true});
}

void add_class_option(Subcommand& command, Problem& problem, const std::string& help,
                      const std::string& standing) {
  command.add("--class " + one_of(class_letters()), help, problem, &problem_class, {.standing = standing});
}

void add_problem_numbers(Subcommand& command, Problem& problem) {
  const OptionTraits of_class{.standing = "the class's"};
  command.add("--n N", "order of the matrix", problem.n, of_class);
  command.add("--nonzer N", "nonzeros of each random vector", problem.nonzer, of_class);
  command.add("--shift X", "shift of the diagonal (lambda)", problem.shift, of_class);
  command.add("--niter N", "outer iterations", problem.niter, of_class);
  command.add("--reference X", "zeta to verify against", problem.reference_zeta, of_class);
}

void complete_problem(const std::string& command, Problem& problem, const Subcommand& given) {
  const auto* const known = find_class(problem.class_name);
  std::vector<std::string> missing{"--n", "--nonzer", "--shift", "--niter"};
  std::erase_if(missing, [&](const auto& option) { return given.has(option); });
  if (known == nullptr && !missing.empty())
    throw InputError("{}: which problem? give --class, or the missing {}", command, fmt::join(missing, " "));
  const auto numbers_of = [](const Problem& p) { return std::tuple(p.n, p.nonzer, p.niter, p.shift); };
  const bool has_reference = given.has("--reference");
  if (known == nullptr || numbers_of(problem) != numbers_of(*known)) {
    problem.class_name = "U";
    if (!has_reference) problem.reference_zeta.reset();
  }
  if (has_reference && *problem.reference_zeta == 0.0)
    throw InputError("--reference 0: must not be zero, since zeta is compared with it in relative terms");
  check_problem(problem);
}

void add_symmetrize_options(Subcommand& command, std::optional<double>& tolerance, bool& mirrors) {
  command.add("--symmetrize TOL",
              "take the mean of mirrored entries of FILE that differ by at most TOL sqrt(a_ii a_jj)",
              tolerance, {.standing = "they must be equal", .is_from_zero = true, .below = 1});
  command.add("--mirror", "FILE has one triangle of a symmetric matrix only, and does not say so: mirror it",
              mirrors);
}

void add_matrix_options(Subcommand& command, SystemOptions& system, const std::string& help_of_assembled) {
  command.add("FILE",
              "matrix: Matrix Market (plain, or compressed by gzip or zstd), or a file of cg2d convert",
              system.matrix_path, {.file = FileUse::reads});
  command.add("--operator NAME:SIZE",
              fmt::format("instead of FILE: {}; applied without a matrix", known_operators()),
              system.operator_text);
  command.add("--assembled", help_of_assembled, system.assembles);
  add_symmetrize_options(command, system.symmetrize_tolerance, system.mirrors);
}

void add_form_options(Subcommand& command, SystemOptions& system) {
  auto values = names_of(preconditioner_table());
  values.emplace_back("chebyshev:DEGREE:LOW:HIGH");
  command.add(
      "--preconditioner " + one_of(values),
      "makes CG take fewer iterations; chebyshev: a polynomial of even DEGREE, 2 to 8, for eigenvalues of "
      "the matrix over its diagonal from LOW to HIGH, which it estimates unless they are given",
      system.preconditioner, [](const std::string& option, const std::string& text) {
        static_cast<void>(polynomial_from(option, text));
        return text;
      });
  command.add("--variant " + one_of(names_of(cg_variant_table())), "form of CG", system.variant);
}

void check_system(const std::string& command, const SystemOptions& system, const Subcommand& given) {
  const auto& text = system.operator_text;
  if (system.matrix_path.empty() == text.empty())
    throw InputError("cg2d {} takes a matrix: FILE, or --operator, and not both", command);
  if (text.empty()) return given.refuse({"--assembled"}, "only with --operator");
  given.refuse({"--symmetrize", "--mirror"}, "only with FILE");
  const bool compares_forms = system.assembles && command != "solve" && find_matrix_free(text) != nullptr;
  try {
    if (system.assembles) static_cast<void>(source_from(text));
    if (!system.assembles || compares_forms) static_cast<void>(matrix_free_row_of(text).size_of(text));
  } catch (const InputError& error) {
    throw InputError("--operator {}", error.what());
  }
}

// ---------------------------------------------------------------- cg2d run and solve

namespace {

/// The grid, the axes, the settings of kernels, the profile, and the memory.
void add_grid_options(Subcommand& command, SessionOptions& session) {
  command.begin_group("Grid");
  add_grid_option(command, session.open_grid, session.configuration,
                  "ranks as columns x rows, such as 2x4; auto tries the best few, rule measures nothing, "
                  "official is that of the official program");
  command.add("--px N", "columns of the grid; the rows follow", session.open_grid.columns,
              {.standing = "those of --grid"});
  command.exclude("--px", "--grid");
  for (const auto& axis : configuration_axes()) add_axis_option(command, axis.name, session.configuration);
  command.add("--cvl N", "critical vector length of the csr kernels: shorter rows take a scalar loop",
              session.tuning.critical_vector_length, {.standing = "the profile's", .is_from_zero = true});
  command.add("--prefetch N", "how many entries ahead a kernel fetches the matrix",
              session.tuning.prefetch_distance, {.standing = "the profile's", .is_from_zero = true});
  command.add("--block-width N", "columns of a kernel's column blocks: a power of 2",
              session.tuning.block_width, {.standing = "the profile's"});
  add_keep_disturbed_option(command, session.profile);
  add_bind_option(command, session.bind);
  add_session_options(command, session);
}

/// Features in their groups, counters, and traces.
void add_feature_options(Subcommand& command, SessionOptions& session, WorkKind kind) {
  auto& features = session.features;
  command.begin_group("Checkpoints");
  command.add("--checkpoint DIR", "save the state to the folder DIR, to go on from after a kill",
              features.checkpoint.folder, {.standing = "none", .file = FileUse::folder});
  command.add(
      "--checkpoint-interval auto|TIME",
      "time between two; auto: Young's formula, sqrt(2 x measured time to save x 24 h), which assumes "
      "one failure of the job a day; also saved when a signal asks to stop",
      features.checkpoint.interval_s,
      [](const std::string& option, const std::string& text) -> std::optional<double> {
        if (text == "auto") return std::nullopt;
        return seconds_from(option, text);
      },
      {.standing = "auto"});
  command.add("--restart DIR",
              "go on from the newest intact checkpoint in DIR, on any grid; begin anew where --checkpoint "
              "names the same DIR and it has none yet",
              features.checkpoint.restart, {.standing = "none", .file = FileUse::folder});
  command.begin_group("Memory");
  command.add("--out-of-core DIR,...",
              "keep the matrix in files on local storage, in the folder DIR or, by rank, in several, and "
              "stream it through the memory of --memory-limit",
              features.out_of_core.folders, &folders_from,
              {.standing = "in memory", .file = FileUse::folder});
  command.begin_group("Soft errors");
  command.add("--guard",
              "check products, steps, residuals and the matrix against soft errors, and redo the affected "
              "iterations",
              features.guard.checks);
  command.add("--inject SEED[:COUNT]",
              "flip that many bits (1 unless given) at random, the same ones for the same seed; to try "
              "--guard",
              features.guard.inject, &inject_options_from, {.standing = "none"});
  command.begin_group("Plan");
  command.add("--check", "first check kernel, transport and grid of the run, as cg2d check does",
              features.checks_parts);
  command.begin_group("Grid");
  command.add("--slow-rank R:FACTOR[@PRODUCT],...",
              "products of rank R take FACTOR times as long, from that product on, to see what one slow "
              "rank costs",
              features.slow_ranks, &slow_ranks_from, {.standing = "none"});
  if (kind == WorkKind::outer_iterations)
    command.add("--rebalance off|on",
                "repartition the matrix between outer iterations where ranks have become slower or faster "
                "and that pays",
                features.rebalances,
                [](const std::string& option, const std::string& text) {
                  require_known(option, text, {"off", "on"});
                  return text == "on";
                },
                {.standing = "off"});
  command.begin_group("Output");
  command.add("--stall-limit TIME",
              "end with code 85 when no iteration goes on for that long, and say what each rank waits for",
              features.stall_limit_s,
              [](const std::string& option, const std::string& text) {
                return text == "none" ? 0.0 : limit_seconds_from(option, text);
              },
              {.standing = "none"});
  command.begin_group("Counters and traces");
  add_event_options(command, session.counters, session.measures_limits,
                    "PAPI_EVENTS of the environment, or none");
  command.add("--papi-strict", "end with 69 if one of the events cannot be counted", session.counters.strict);
  command.add("--trace FILE",
              "write a time line of every phase to FILE (Chrome-trace JSON); -: to standard output, instead "
              "of the report",
              session.trace.path, {.file = FileUse::writes});
  command.add("--trace-steps N", "CG steps in the trace, from the first one on", session.trace.step_count,
              {.most = TraceOptions::most_steps});
  command.require_with("--trace-steps", "--trace");
}

}  // namespace

void add_work_options(Subcommand& command, SessionOptions& session, const std::vector<std::string>& formats,
                      WorkKind kind) {
  add_grid_options(command, session);
  command.begin_group("Output");
  add_result_options(command, session.format, formats, session.output);
  command.add("--verbose", "print everything that is known about the result", session.is_verbose);
  add_progress_options(command, session.progress);
  add_feature_options(command, session, kind);
}

}  // namespace cg2d
