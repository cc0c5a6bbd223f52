// cg2d help, version and completion: texts about the program itself.

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "cg/base/build_info.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/completion.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/help/help_format.hpp"
#include "cg/commands/help/misspelling.hpp"
#include "cg/commands/launcher_ranks.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {
namespace {

const CLI::App& program_of(const OptionSet& options) { return *options.parser().get_parent(); }

/// The parsed arguments of `cg2d help`.
struct HelpArguments {
  std::string command;
  bool man = false;
};

void add_help_options(OptionSet& options, HelpArguments& arguments) {
  options.add({"COMMAND", one_of(names_of(subcommand_table())), "a command of cg2d", "the program"},
              arguments.command, [](const std::string& text) { return text; });
  options.add_flag("--man", "print the manual page (roff), as man -l shows it", arguments.man);
}

Action help_action(HelpArguments& arguments, const OptionSet& given) {
  const auto& program = program_of(given);
  const auto print = [&](const CLI::App& parser) {
    return print_text(arguments.man ? man_page(parser, version_text()) : help_text(parser));
  };
  if (arguments.command.empty()) return print(program);
  if (const auto* const command = find_command(program, arguments.command)) return print(*command);
  throw InputError(unknown_command_message(program, arguments.command));
}

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
      build_info::flags, name_of_mpi(), blas_version(),
      papi_version().value_or("not in this build: --papi counts the kernel's software events only"),
      build_info::hwloc_version, build_info::zstd_version,
      no_uring.empty() ? fmt::format("available (liburing {})", build_info::liburing_version)
                       : "not here: " + no_uring);
}

Action version_action() {
  return print_made_text([] { return version_text() + "\n" + build_text(); });
}

struct CompletionArguments {
  std::string shell;
};

void add_completion_options(OptionSet& options, CompletionArguments& arguments) {
  options.add({"SHELL", one_of(names_of(shell_table())), "the shell that the script is for"}, arguments.shell,
              {.is_required = true});
}

Action completion_action(CompletionArguments& arguments, const OptionSet& given) {
  const auto row = std::ranges::find(shell_table(), arguments.shell, &ShellRow::name);
  return print_text(row->script(program_of(given)));
}

}  // namespace

SubcommandRow help_subcommand() {
  return {.name = "help",
          .description = "print the help of a command, or its manual page",
          .examples = {"cg2d help sweep", "cg2d help --man run"},
          .declare = subcommand_with<HelpArguments, add_help_options, help_action>,
          .takes_config = false};
}

SubcommandRow version_subcommand() {
  return {.name = "version",
          .description = "print the version, and the libraries that it was built with",
          .examples = {"cg2d version", "cg2d --version"},
          .declare = [](OptionSet&) { return std::function(version_action); },
          .takes_config = false};
}

SubcommandRow completion_subcommand() {
  return {.name = "completion",
          .description = "print a script that completes command lines in a shell",
          .examples = {"source <(cg2d completion bash)", "cg2d completion zsh > _cg2d"},
          .declare = subcommand_with<CompletionArguments, add_completion_options, completion_action>,
          .takes_config = false};
}

}  // namespace cg2d
