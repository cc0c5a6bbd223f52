// cg2d compare, export and events; cg2d report: a page of figures, which a Python package beside the program makes; cg2d schema, help, version
// and completion: texts about the program itself.

#include <CLI/CLI.hpp>

#include <array>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/describe.hpp"
#include "cg/commands/batch/task_list.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/report/report.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/run/check/check.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/pingpong.hpp"
#include "cg/studies/scaling.hpp"
#include "cg/timing/events.hpp"

namespace cg2d {
namespace {

/// FILE...: results.
void add_files_argument(Subcommand& command, std::vector<std::string>& files, const std::string& help) {
  command.add("FILE FILE", help, files, {.file = FileUse::reads, .is_required = true});
}

/// --label: names of the sets of results, as many as there are of these. standing: the help's default.
void add_label_option(Subcommand& command, std::vector<std::string>& labels, const std::string& standing) {
  command.add("--label NAME", "names of the sets, in their order", labels,
              [](const std::string& option, const std::string& text) {
                if (text.empty() || text_in_json(text) != text)
                  throw InputError("{}: a name is text without control characters", option);
                return text;
              },
              {.standing = standing});
}

// ---------------------------------------------------------------- compare

struct CompareOptions {
  std::string before;
  std::string after;
  double threshold = 0.05;
  std::vector<std::string> labels;  ///< of the two sets; empty: A and B
  std::string format = "text";
  std::string output;
};

/// Rank 0 reads, compares and prints. Collective.
ExitCode compare(const CompareOptions& options, comm::RankGroup& group) {
  int64_t code = 0;
  write_output(options.output, group, [&] {
    const auto& labels = options.labels;
    const auto before = read_results(options.before);
    const auto comparison =
        compare_results(before, read_results(options.after), options.threshold,
                        labels.empty() ? SetNames{} : SetNames{.before = labels[0], .after = labels[1]});
    const auto first_of = [](const auto& keys) { return keys.empty() ? "none" : keys.front(); };
    if (comparison.common.empty())
      throw InputError(
          "{} and {}: no configuration is in both, such as {} and {}: grid, kernel, memory limit and all "
          "else "
          "that is asked for must be the same; cg2d sweep measures them in turns, which compares them",
          options.before, options.after, first_of(comparison.only_before), first_of(comparison.only_after));
    code = static_cast<int64_t>(comparison.exit_code());
    return options.format == "json" ? document_text(comparison) : comparison_text(comparison);
  });
  return static_cast<ExitCode>(group.maximum(code));
}

// ---------------------------------------------------------------- report

struct PageOptions {
  std::vector<std::string> files;
  std::string page = "report.html";
  std::vector<std::string> labels;  ///< of the compared sets; empty: by their files
  ProgressMode progress = ProgressMode::on_a_terminal;
  std::vector<std::string> words{};  ///< for the package, but for its call
};

/// The package's exit code for a page that it has made: no other program ends with it, whatever CG2D_PYTHON names.
constexpr int page_made = 40;

/// Runs the package to its end.
ExitCode run_python(const PageOptions& options) {
  const auto named = environment_variable("CG2D_PYTHON");
  const auto package =
      file_beside_program(build_info::data_from_program, "share/cg2d", "report_parts/__main__.py", "report",
                          "cmake --install puts it there with the program");
  // -B: nothing is written beside the package, so that an uninstallation leaves nothing.
  std::vector<std::string> words{named.empty() ? "python3" : named, "-B", package, "--cg2d", own_program()};
  words.insert(words.end(), options.words.begin(), options.words.end());
  const auto& python = words.front();
  const auto end = run_child(words, "report");
  if (end.signal != 0)
    throw RunError(ExitCode::internal, "report: {} was ended by signal {}", python, end.signal);
  if (end.code == page_made) return ExitCode::success;
  constexpr int wrong_words = 2;  // of the package, and of Python itself
  const bool is_of_python = end.code == 0 || end.code == 1 || end.code == wrong_words;
  if (!end.is_started || is_of_python)
    throw RunError(
        ExitCode::unavailable, "report: {} {}; install Python 3.10 or later, or name it by CG2D_PYTHON",
        python,
        end.is_started ? fmt::format("ended with code {} and made no page", end.code) : "cannot be started");
  return static_cast<ExitCode>(end.code);
}

/// Rank 0 runs the package by the Python of CG2D_PYTHON, or python3 of the path, and waits for it; the others wait
/// for rank 0. A signal that ends this process ends that one, too. Collective. Returns the package's exit code.
/// Throws RunError (unavailable) where Python or the package is missing.
ExitCode make_page(const PageOptions& options, comm::RankGroup& group) {
  int64_t code = 0;
  agree_on(group, [&] {
    if (group.rank() == 0) code = static_cast<int64_t>(run_python(options));
  });
  return static_cast<ExitCode>(group.maximum(code));
}

void check_page(PageOptions& page, const Subcommand& given) {
  const bool compares = given.has("--compare");  // each file by itself, and against the first
  if (compares && page.files.size() < 2)
    throw InputError("--compare: takes two files or more, such as before.jsonl after.jsonl");
  auto& words = page.words;
  words = {"--output", page.page, "--progress",
           given.has("--progress") ? "always"
           : given.has("--quiet")  ? "quiet"
                                   : "terminal"};
  for (const auto* const name : {"--figures", "--only"}) {
    if (given.has(name))
      words.insert(words.end(), {name, fmt::format("{}", fmt::join(given.texts_of(name), ","))});
  }
  if (compares) words.emplace_back("--compare");
  for (const auto& label : page.labels) words.insert(words.end(), {"--label", label});
  words.emplace_back("--");
  words.insert(words.end(), page.files.begin(), page.files.end());
}

// ---------------------------------------------------------------- export, events

struct ExportOptions {
  std::vector<std::string> files;
  std::string format = "csv";  ///< one line per run; or for Extra-P
  std::string output;          ///< empty: standard output
};

struct EventsOptions {
  bool shows_all = false;
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

// ---------------------------------------------------------------- schema

/// A kind of document.
struct DocumentRow {
  std::string_view name;
  void (*type)(Members& m);
  std::string_view title{};             ///< what writes it; empty: the command of that name
  void (*other)(Members& m) = nullptr;  ///< it may be of that type, too
};

constexpr auto document_table = std::to_array<DocumentRow>(
    {{"run", visit_plan_document, "What cg2d run --format json writes, and a line of cg2d sweep",
      visit_new<RunDocument>},
     {"solve", visit_new<SolveDocument>,
      "What cg2d solve --format json writes, and a line of a sweep of a system"},
     {"sweep", visit_sweep_verdicts, "What cg2d sweep --show FILE --format json writes"},
     {"scaling", visit_new<ScalingStudy>},
     {"compare", visit_new<Comparison>, "What cg2d compare A B --format json writes"},
     {"batch", visit_task_line, "A line of the results of cg2d batch"},
     {"model", visit_model},
     {"paper", visit_new<PaperComparison>, "What cg2d model --paper --format json writes"},
     {"machine", visit_new<Machine>, "A machine description, as cg2d model --machine FILE takes it",
      visit_new<MachineDescription>},
     {"simulate", visit_simulation},
     {"explain", visit_explanation},
     {"pingpong", visit_new<PingPongReport>},
     {"stencil", visit_new<StencilReport>},
     {"check", visit_new<CheckReport>},
     {"events", visit_new<EventList>}});

/// The libraries that the program is built with, and what it does without those that it can do without.
std::string build_text() {
  const auto commit = build_commit();
  const auto no_uring = find_panel_io("io_uring")->why_unavailable();
  return fmt::format(
      " Commit  {}{}\n"
      " Compiler {} ({})\n"
      " MPI     {}\n"
      " BLAS    {}\n"
      " PAPI    {}\n"
      " hwloc   {}\n"
      " zstd    {}\n"
      " io_uring {}\n",
      commit.hash, commit.tree_changed.value_or(false) ? ", with changes" : "", build_info::compiler,
      build_info::flags, mpi_library_version(), blas_version(),
      papi_version().value_or("not in this build: there are no counters"), build_info::hwloc_version,
      build_info::zstd_version,
      no_uring.empty() ? fmt::format("available (liburing {})", build_info::liburing_version)
                       : "not here: " + no_uring);
}

}  // namespace

void declare_compare(Subcommand& command) {
  command.describe(
      "compare two results or sweeps, and find the configurations that became slower",
      {"cg2d compare before.json after.json", "cg2d compare before.jsonl after.jsonl --threshold 2%"});
  auto& comparison = command.with<CompareOptions>(&compare);
  command.add("A", "results before: of cg2d run --format json, or of cg2d sweep", comparison.before,
              {.file = FileUse::reads, .is_required = true});
  command.add("B", "results after", comparison.after, {.file = FileUse::reads, .is_required = true});
  const auto threshold_from = [](const std::string& text) {
    const auto threshold = percentage_from(text);
    if (!threshold) throw InputError("--threshold {}: must be a percentage from 0 on, such as 5%", text);
    return *threshold;
  };
  command.add("--threshold PERCENT", "the increase in time that is a regression", comparison.threshold,
              threshold_from, {.standing = "5%"});
  add_label_option(command, comparison.labels, "A,B");
  add_result_options(command, comparison.format, {"text", "json"}, comparison.output);
  command.check = [&labels = comparison.labels] {
    if (!labels.empty() && (labels.size() != 2 || labels.front() == labels.back()))
      throw InputError("--label: must be two different names, one for each set, such as before,after");
  };
}

void declare_export(Subcommand& command) {
  command.describe("write results for Extra-P, or as CSV", {"cg2d export sweep.jsonl --output sweep.csv",
                                                            "cg2d export sweep.jsonl --format extra-p"});
  auto& exported = command.with<ExportOptions>([](const ExportOptions& options, comm::RankGroup& group) {
    return print_text(options.output, group, [&] {
      const auto records = read_all_results(options.files);
      return options.format == "csv" ? csv_lines(records) : extra_p_lines(records);
    });
  });
  add_files_argument(command, exported.files, "results of cg2d run --format json, or of cg2d sweep");
  add_result_options(command, exported.format, {"csv", "extra-p"}, exported.output);
}

void declare_report(Subcommand& command) {
  command.describe(
      "make a page of figures from results, which opens offline",
      {"cg2d report sweep.jsonl -o report.html", "cg2d report before.jsonl after.jsonl --compare"});
  auto& page = command.with<PageOptions>(&make_page);
  add_files_argument(
      command, page.files,
      "results of run, sweep, scaling, batch, pingpong, model, solve and compare as JSON, tuning profiles, "
      "traces, JSON of spmv_bench and row_length_bench");
  command.add("-o,--output FILE", "the page: one file that needs no other", page.page,
              {.file = FileUse::writes, .uses_default_file = true});
  command.add_texts("--compare",
                    "each file on its own, side by side, and against the first by paired rounds");
  add_label_option(command, page.labels, "by the files");
  command.require_with("--label", "--compare");
  command.add_texts("--figures DIR", "also every picture as SVG, into DIR", {}, {.file = FileUse::fills});
  command.add_texts("--only NAME", "only these figures, by their names in the page's links", {},
                    {.standing = "all", .is_list = true});
  add_progress_options(command, page.progress);
  command.check = [&] { check_page(page, command); };
}

void declare_events(Subcommand& command) {
  command.describe("list the events that cg2d run --papi can count on this machine",
                   {"cg2d events", "cg2d events --all --format json"});
  auto& events = command.with<EventsOptions>([](const EventsOptions& options, comm::RankGroup& group) {
    return print_text(options.output, group,
                      [&] { return write_event_list(options.format, options.shows_all); });
  });
  command.add("--all", "also list what cannot be counted here, with the reason", events.shows_all);
  add_result_options(command, events.format, {"text", "json"}, events.output);
}

void declare_schema(Subcommand& command) {
  command.describe("print the JSON Schema of what a command writes or reads",
                   {"cg2d schema run > run.schema.json", "cg2d schema machine"});
  command.add_texts(
      "DOCUMENT " + one_of(names_of(document_table)),
      "the document: that of the command with this name, of model --paper, or a machine description",
      [&](const auto& texts) {
        require_known("DOCUMENT", texts.front(), names_of(document_table));
        command.work = printing([row = *row_named(document_table, texts.front())] {
          const std::array types{row.type, row.other};
          const auto usual_title = fmt::format("What cg2d {} --format json writes", row.name);
          return schema_text(row.title.empty() ? usual_title : row.title,
                             std::span(types).first(row.other == nullptr ? 1 : 2));
        });
      },
      {.is_required = true});
}

void declare_help(Subcommand& command) {
  command.describe("print the help of a command", {"cg2d help sweep", "cg2d help"});
  command.add_texts("COMMAND " + one_of(names_of(subcommand_table())), "a command of cg2d", {},
                    {.standing = "the program"});
  command.check = [&] {
    const auto& program = *command.parser().get_parent();
    const auto name = command.text_of("COMMAND");
    const auto* const named = name.empty() ? nullptr : find_command(program, name);
    if (named == nullptr && !name.empty()) throw InputError(unknown_command_message(program, name));
    command.work = printing([text = help_text(named == nullptr ? program : *named)] { return text; });
  };
}

void declare_version(Subcommand& command) {
  command.describe("print the version, and the libraries that it was built with",
                   {"cg2d version", "cg2d --version"});
  command.work = printing([] { return version_text() + "\n" + build_text(); });
}

void declare_completion(Subcommand& command) {
  command.describe("print a script that completes command lines in a shell",
                   {"source <(cg2d completion bash)", "cg2d completion zsh > _cg2d"});
  command.add_texts("SHELL " + one_of(completion_shells()), "the shell that the script is for",
                    [&](const auto& texts) {
                      require_known("SHELL", texts.front(), completion_shells());
                      command.work = printing([script = completion_script(*command.parser().get_parent(),
                                                                          texts.front())] { return script; });
                    },
                    {.is_required = true});
}

}  // namespace cg2d
