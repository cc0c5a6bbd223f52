// cg2d compare, export and events; cg2d report: a page of figures, which a Python package beside the program makes.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/result_reader.hpp"

namespace cg2d {
namespace {

/// FILE...: results.
void add_files_argument(OptionSet& options, std::vector<std::string>& files, const std::string& help) {
  options.add("FILE FILE", help, files, {.file = FileUse::reads, .is_required = true});
}

/// --label: names of the sets of results, as many as there are of these. standing: the help's default.
void add_label_option(OptionSet& options, std::vector<std::string>& labels, const std::string& standing) {
  options.add("--label NAME", "names of the sets, in their order", labels,
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
  std::int64_t code = 0;
  write_output(options.output, group, [&] {
    const auto& labels = options.labels;
    const auto comparison =
        compare_results(read_results(options.before), read_results(options.after), options.threshold,
                        labels.empty() ? SetNames{} : SetNames{.before = labels[0], .after = labels[1]});
    if (comparison.common.empty())
      throw InputError("{} and {}: no configuration is in both; {}", options.before, options.after,
                       difference_between(comparison));
    code = static_cast<std::int64_t>(comparison.exit_code());
    return options.format == "json" ? document_text(comparison) : comparison_text(comparison);
  });
  return static_cast<ExitCode>(group.maximum(code));
}

double threshold_from(const std::string& text) {
  const auto threshold = percentage_from(text);
  if (!threshold) throw InputError("--threshold {}: must be a percentage from 0 on, such as 5%", text);
  return *threshold;
}

void add_compare_options(OptionSet& options, CompareOptions& compare) {
  options.add("A", "results before: of cg2d run --format json, or of cg2d sweep", compare.before,
              {.file = FileUse::reads, .is_required = true});
  options.add("B", "results after", compare.after, {.file = FileUse::reads, .is_required = true});
  options.add("--threshold PERCENT", "the increase in time that is a regression", compare.threshold,
              &threshold_from, {.standing = "5%"});
  add_label_option(options, compare.labels, "A,B");
  add_result_options(options, compare.format, {"text", "json"}, compare.output);
}

void check_comparison(CompareOptions& compare, const OptionSet& /*given*/) {
  const auto& labels = compare.labels;
  if (!labels.empty() && (labels.size() != 2 || labels.front() == labels.back()))
    throw InputError("--label: must be two different names, one for each set, such as before,after");
}

// ---------------------------------------------------------------- export

struct ExportOptions {
  std::vector<std::string> files;
  std::string format = "csv";  ///< one line per run; or for Extra-P
  std::string output;          ///< empty: standard output
};

void add_export_options(OptionSet& options, ExportOptions& exported) {
  add_files_argument(options, exported.files, "results of cg2d run --format json, or of cg2d sweep");
  add_result_options(options, exported.format, {"csv", "extra-p"}, exported.output);
}

Action export_action(ExportOptions& exported, const OptionSet& /*given*/) {
  return print_made_text(
      [exported] {
        const auto records = read_all_results(exported.files);
        return exported.format == "csv" ? csv_lines(records) : extra_p_lines(records);
      },
      exported.output);
}

// ---------------------------------------------------------------- report

struct PageOptions {
  std::vector<std::string> files;
  std::string page = "report.html";
  bool compares = false;            ///< each file by itself, and against the first
  std::vector<std::string> labels;  ///< of the compared sets; empty: by their files
  ProgressMode progress = ProgressMode::on_a_terminal;
  std::vector<std::string> words{};  ///< for the package, but for its call
};

/// The package's exit code for a page that it has made: no other program ends with it, whatever CG2D_PYTHON names.
constexpr int page_made = 40;

/// The words of the package's command line, with its path.
std::vector<std::string> command_line(const PageOptions& options) {
  const auto named = environment_variable("CG2D_PYTHON");
  const auto package =
      file_beside_program(build_info::data_from_program, "share/cg2d", "report_parts/__main__.py", "report",
                          "cmake --install puts it there with the program");
  // -B: nothing is written beside the package, so that an uninstallation leaves nothing.
  std::vector<std::string> words{named.empty() ? "python3" : named, "-B", package, "--cg2d", own_program()};
  words.insert(words.end(), options.words.begin(), options.words.end());
  return words;
}

/// Runs it to its end.
ExitCode run_python(const PageOptions& options) {
  const auto words = command_line(options);
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
  std::int64_t code = 0;
  agree_on(group, [&] {
    if (group.rank() == 0) code = static_cast<std::int64_t>(run_python(options));
  });
  return static_cast<ExitCode>(group.maximum(code));
}

void add_report_options(OptionSet& options, PageOptions& page) {
  add_files_argument(
      options, page.files,
      "results of run, sweep, scaling, pingpong, solve and compare as JSON, tuning profiles, traces");
  options.add("-o,--output FILE", "the page: one file that needs no other", page.page,
              {.file = FileUse::writes, .uses_default_file = true});
  options.add("--compare", "each file on its own, side by side, and against the first by paired rounds",
              page.compares);
  add_label_option(options, page.labels, "by the files");
  options.require_with("--label", "--compare");
  options.add_texts("--figures DIR", "also every figure as PNG and SVG, into DIR", false, {},
                    {.file = FileUse::fills});
  options.add_texts("--small DIR", "also PNG of 700 pixels, for a README, into DIR", false, {},
                    {.file = FileUse::fills});
  options.add_texts("--only NAME", "only these figures, by their names in the page's links", true, {},
                    {.standing = "all"});
  add_progress_options(options, page.progress);
}

void check_page(PageOptions& page, const OptionSet& given) {
  if (page.compares && page.files.size() < 2)
    throw InputError("--compare: takes two files or more, such as before.jsonl after.jsonl");
  auto& words = page.words;
  words = {"--output", page.page, "--progress",
           given.has("--progress") ? "always"
           : given.has("--quiet")  ? "quiet"
                                   : "terminal"};
  for (const auto* const name : {"--figures", "--small", "--only"}) {
    if (given.has(name))
      words.insert(words.end(), {name, fmt::format("{}", fmt::join(given.texts_of(name), ","))});
  }
  if (page.compares) words.emplace_back("--compare");
  for (const auto& label : page.labels) words.insert(words.end(), {"--label", label});
  words.emplace_back("--");
  words.insert(words.end(), page.files.begin(), page.files.end());
}

// ---------------------------------------------------------------- events

/// The parsed arguments of `cg2d events`.
struct EventsArguments {
  bool shows_all = false;
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

void add_events_options(OptionSet& options, EventsArguments& events) {
  options.add("--all", "also list what cannot be counted here, with the reason", events.shows_all);
  add_result_options(options, events.format, {"text", "json"}, events.output);
}

Action events_action(EventsArguments& events, const OptionSet& /*given*/) {
  return print_made_text([events] { return write_event_list(events.format, events.shows_all); },
                         events.output);
}

}  // namespace

SubcommandRows result_subcommands() {
  return {
      {.name = "compare",
       .description = "compare two results or sweeps, and find the configurations that became slower",
       .examples = {"cg2d compare before.json after.json",
                    "cg2d compare before.jsonl after.jsonl --threshold 2%"},
       .declare = subcommand_with<add_compare_options, check_comparison, compare>},
      {.name = "export",
       .description = "write results for Extra-P, or as CSV",
       .examples = {"cg2d export sweep.jsonl --output sweep.csv", "cg2d export sweep.jsonl --format extra-p"},
       .declare = subcommand_with<add_export_options, export_action>},
      {.name = "report",
       .description = "make a page of figures from results, which opens offline",
       .examples = {"cg2d report sweep.jsonl -o report.html",
                    "cg2d report before.jsonl after.jsonl --compare"},
       .declare = subcommand_with<add_report_options, check_page, make_page>},
      {.name = "events",
       .description = "list the events that cg2d run --papi can count on this machine",
       .examples = {"cg2d events", "cg2d events --all --format json"},
       .declare = subcommand_with<add_events_options, events_action>}};
}

}  // namespace cg2d
