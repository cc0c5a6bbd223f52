// cg2d report: a page of figures, which a Python package beside the program makes.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"

namespace cg2d {
namespace {

/// The values that the user asked for.
struct PageOptions {
  std::vector<std::string> files;
  std::string page = "report.html";
  bool compares = false;            ///< each file by itself, and against the first
  std::vector<std::string> labels;  ///< of the compared sets; empty: by their files
  std::string figure_folder;        ///< for PNG and SVG; empty: none are made
  std::string small_folder;         ///< for PNG of a README's width; empty: none are made
  std::vector<std::string> only;    ///< names of figures; empty: all
  ProgressMode progress = ProgressMode::on_a_terminal;
};

constexpr std::string_view package = "report_parts/__main__.py";

/// The package's exit code for a page that it has made: no other program ends with it, whatever CG2D_PYTHON names.
constexpr int page_made = 40;

std::string_view word_of(ProgressMode mode) {
  if (mode == ProgressMode::always) return "always";
  return mode == ProgressMode::quiet ? "quiet" : "terminal";
}

std::vector<std::string> command_line(const PageOptions& options) {
  const auto named = environment_variable("CG2D_PYTHON");
  const auto package_path = file_beside_program(build_info::data_from_program, "share/cg2d", package,
                                                "report", "cmake --install puts it there with the program");
  // -B: nothing is written beside the package, so that an uninstallation leaves nothing.
  std::vector<std::string> words{named.empty() ? "python3" : named,
                                 "-B",
                                 package_path,
                                 "--cg2d",
                                 own_program(),
                                 "--output",
                                 options.page,
                                 "--progress",
                                 std::string(word_of(options.progress))};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--figures", options.figure_folder);
  add("--small", options.small_folder);
  add("--only", fmt::format("{}", fmt::join(options.only, ",")));
  if (options.compares) words.emplace_back("--compare");
  for (const auto& label : options.labels) add("--label", label);
  words.emplace_back("--");
  words.insert(words.end(), options.files.begin(), options.files.end());
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

/// --figures and --small.
void add_figure_folder(OptionSet& options, const std::string& name, const std::string& help,
                       std::string& folder) {
  options.add({name, "DIR", help}, folder, {.file = FileUse::fills});
}

void add_report_options(OptionSet& options, PageOptions& page) {
  add_files_argument(
      options, page.files,
      "results of run, sweep, scaling, pingpong, solve and compare as JSON, tuning profiles, traces");
  options.add({"-o,--output", "FILE", "the page: one file that needs no other"}, page.page,
              {.file = FileUse::writes, .uses_default_file = true});
  options.add_flag("--compare", "each file on its own, side by side, and against the first by paired rounds",
                   page.compares);
  add_label_option(options, page.labels, "by the files");
  options.require_with("--label", "--compare");
  add_figure_folder(options, "--figures", "also every figure as PNG and SVG, into DIR", page.figure_folder);
  add_figure_folder(options, "--small", "also PNG of 700 pixels, for a README, into DIR", page.small_folder);
  options.add_list({"--only", "NAME", "only these figures, by their names in the page's links", "all"},
                   page.only);
  add_progress_options(options, page.progress);
}

void check_page(PageOptions& page, const OptionSet& /*given*/) {
  if (page.compares && page.files.size() < 2)
    throw InputError("--compare: takes two files or more, such as before.jsonl after.jsonl");
}

}  // namespace

SubcommandRow report_subcommand() {
  return {.name = "report",
          .description = "make a page of figures from results, which opens offline",
          .examples = {"cg2d report sweep.jsonl -o report.html",
                       "cg2d report before.jsonl after.jsonl --compare"},
          .declare = subcommand_with<PageOptions, add_report_options, check_page, make_page>};
}

}  // namespace cg2d
