#pragma once

// A command line as a function: what the program does between the start and the end of MPI, as often as a caller likes.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Does what the arguments, of which the first is the program's name, ask for, and returns the exit code. Results go to the files that they
/// name and to standard output; an error is one line on stderr, from rank 0. Nothing of one command is left to the next but memory and
/// threads that are used again. Collective over the group; the ranks may have different arguments, which is refused.
/// A failure that the ranks cannot agree on (no memory, a defect) ends all of them by MPI_Abort.
ExitCode do_command_line(const std::vector<std::string>& arguments, comm::RankGroup& group);

}  // namespace cg2d
