#pragma once

// From the words of the command line to what the program does.

#include "cg/commands/subcommand.hpp"

namespace cg2d {

/// What the subcommand named says; help or the version where these are asked for. Throws InputError.
Action parse_command_line(int argument_count, const char* const* arguments);

}  // namespace cg2d
