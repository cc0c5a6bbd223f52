#pragma once

// The pattern of every subcommand of the program: declare options, then return the action.

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/named_files.hpp"
#include "cg/commands/option_set.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The work that a command line asks for: collective, the same exit code on every rank. Throws RunError
/// (on every rank alike), MpiError, std::bad_alloc.
using Action = std::function<ExitCode(comm::RankGroup& group)>;

/// "cg2d 0.1.0".
std::string version_text();

/// Prints a text to standard output, from rank 0.
Action print_text(std::string text);
/// The same for a text that rank 0 makes when the action runs; `make` may throw RunError.
/// output: a file that gets the text instead; empty: none.
Action print_made_text(std::function<std::string()> make, std::string output = {});

/// Declares the options of a subcommand, and returns the function that makes its action when they have been converted. That
/// function holds the options, must outlive the set, and throws InputError.
using Subcommand = std::function<Action()> (*)(OptionSet& options);

template <typename Options>
Options options_of(void (*declare)(OptionSet& set, Options& options));

/// The action of a command that works on options, which Check completes and checks together.
template <auto Check, auto Command, typename Options>
Action checked_action(Options& options, const OptionSet& given) {
  Check(options, given);
  return [options](comm::RankGroup& group) { return Command(options, group); };
}

/// The pattern of a subcommand: Declare(set, options) declares its options, and Make(options, given) checks them and makes the action.
template <auto Declare, auto Make>
std::function<Action()> subcommand_with(OptionSet& set) {
  const auto options = std::make_shared<decltype(options_of(Declare))>();
  Declare(set, *options);
  return [options, &set] { return Make(*options, set); };
}
/// The pattern of one that does nothing else than Check(options, given) and Command(options, group).
template <auto Declare, auto Check, auto Command>
std::function<Action()> subcommand_with(OptionSet& set) {
  return subcommand_with<Declare, &checked_action<Check, Command, decltype(options_of(Declare))>>(set);
}
/// Check of options that do not depend on each other.
template <typename Options>
void no_check(Options& /*options*/, const OptionSet& /*given*/) {}

/// One subcommand.
struct SubcommandRow {
  std::string_view name;
  std::string_view description;
  std::array<std::string_view, 2> examples;  ///< at the end of its help: command lines that run as they stand
  Subcommand declare;
  bool takes_config = true;  ///< whether --config and --save-config make sense
  bool is_task = false;      ///< whether it may be a task of a batch
};
using SubcommandRows = std::vector<SubcommandRow>;
/// All of them, from the functions of the files *_options.cpp and *_commands.cpp.
const SubcommandRows& subcommand_table();

/// The text of the file of --config; empty where there is no such option, or no such file.
std::string config_file_text(const std::vector<std::string>& arguments);

/// A command line: what it asks for, and what it says.
struct ParsedCommand {
  Action action;                               ///< prints the help or the version where no command is named
  const SubcommandRow* row = nullptr;          ///< of the named command
  std::shared_ptr<const OptionSet> options{};  ///< of that command
  std::vector<FileOption> files{};             ///< that it reads and writes
};
/// arguments: the program's name first. Nothing is done before the action is called. Throws InputError.
ParsedCommand parse_command_line(const std::vector<std::string>& arguments);

/// Does what the arguments ask for, between the start and the end of MPI, as often as a caller likes. Returns the exit code. Results
/// go to the files that they name and to standard output; an error is one line on stderr, from rank 0. Nothing of one command is left
/// to the next but memory and threads that are used again. Collective over the group; the ranks may have different arguments, which is
/// refused. A failure that the ranks cannot agree on (no memory, a defect) ends all of them by MPI_Abort.
ExitCode do_command_line(const std::vector<std::string>& arguments, comm::RankGroup& group);

}  // namespace cg2d
