#pragma once

// Messages about commands and options that do not exist, with the one that was probably meant.

#include <CLI/CLI.hpp>
#include <string>

namespace cg2d {

/// The message about a command that `program` does not have.
std::string unknown_command_message(const CLI::App& program, const std::string& name);
/// The message about the first argument that nothing took; empty: there is none. parsed: the parser of the command,
/// nullptr without one. The first option comes before other arguments, which may be its value.
std::string unexpected_argument_message(const CLI::App& program, const CLI::App* parsed);

}  // namespace cg2d
