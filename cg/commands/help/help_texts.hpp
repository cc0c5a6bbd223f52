#pragma once

// Texts about the command line, all made from the parser's own commands and options: --help of at most 100 columns, manual pages in roff,
// completion scripts for shells, and messages about commands and options that do not exist, with the one that was probably meant.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace cg2d {

/// Description, usage, commands, options by their groups with defaults and values, exit codes, and examples.
std::string help_text(const CLI::App& parser);

/// cg2d(1) for the program, cg2d-run(1) and its like for a command. version: "cg2d 0.1.0".
std::string man_page(const CLI::App& parser, const std::string& version);

/// One shell; a new one is a function and its row.
struct ShellRow {
  std::string_view name;
  std::string (*script)(const CLI::App& program);
};
std::span<const ShellRow> shell_table();

/// The message about a command that `program` does not have.
std::string unknown_command_message(const CLI::App& program, const std::string& name);
/// The message about the first argument that nothing took; empty: there is none. parsed: the parser of the command,
/// nullptr without one. The first option comes before other arguments, which may be its value.
std::string unexpected_argument_message(const CLI::App& program, const CLI::App* parsed);

}  // namespace cg2d
