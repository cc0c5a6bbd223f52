#pragma once

// The pattern of every subcommand of the program: declare options, then return the action.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/errors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The work that a command line asks for: collective, the same exit code on every rank. Throws RunError
/// (on every rank alike), MpiError, std::bad_alloc.
using Action = std::function<ExitCode(comm::RankGroup& group)>;

/// Prints a text to standard output, from rank 0.
Action print_text(std::string text);
/// The same for a text that rank 0 makes when the action runs; `make` may throw RunError.
Action print_made_text(std::function<std::string()> make);

/// Declares the options of a subcommand, and returns how to make its action after parsing, which throws
/// InputError. The returned function holds the parsed arguments, and must outlive the parser.
using Subcommand = std::function<Action()> (*)(CLI::App& parser);

/// The pattern of a subcommand with arguments: `add_options` ties them to the parser, `action_of` makes the
/// action.
template <typename Arguments, void (*add_options)(CLI::App&, Arguments&),
          Action (*action_of)(const Arguments&)>
std::function<Action()> subcommand_with(CLI::App& parser) {
  const auto arguments = std::make_shared<Arguments>();
  add_options(parser, *arguments);
  return [arguments] { return action_of(*arguments); };
}

/// The action of a command that works on options: `options_from` makes them from the parsed arguments.
template <auto options_from, auto command, typename Arguments>
Action command_action(const Arguments& arguments) {
  return [options = options_from(arguments)](comm::RankGroup& group) { return command(options, group); };
}

/// One subcommand; a new one is one file that defines a row, and its entry in subcommand_table().
struct SubcommandRow {
  std::string_view name;
  std::string_view description;
  Subcommand declare;
};
std::span<const SubcommandRow> subcommand_table();

/// The action of the named subcommand, or one that prints the help or the version. Throws InputError.
Action parse_command_line(int argument_count, const char* const* arguments);

}  // namespace cg2d
