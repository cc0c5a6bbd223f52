#pragma once

// From the command line to the action of a subcommand.

#include "cg/commands/subcommand.hpp"

namespace cg2d {

/// The action of the named subcommand, or one that prints the help or the version. Throws InputError.
Action parse_command_line(int argument_count, const char* const* arguments);

}  // namespace cg2d
