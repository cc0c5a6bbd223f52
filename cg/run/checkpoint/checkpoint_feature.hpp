#pragma once

// --checkpoint and --restart: the work is saved, and goes on from what was saved.

#include <cstdint>
#include <string>
#include <vector>

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {

/// The first members of restart, in a result.
void describe(Members& m, FoundCheckpoint& found);

/// The words of a command, with those of an option replaced by "NAME VALUE", or with these added.
std::vector<std::string> with_option(std::vector<std::string> command, const std::string& name,
                                     const std::string& value);

/// The end of the sentence about a signal: whether the state is saved, why not, and the command that goes on from it. is_restarted: the
/// iteration went on from a checkpoint itself. last_generation: in the folder that it saves to; 0: none. failure: why its state at the signal
/// is not saved. command: that of the interrupted program.
std::string how_to_go_on(const CheckpointOptions& asked, bool is_restarted, std::int64_t last_generation,
                         const std::string& failure, std::vector<std::string> command);

}  // namespace cg2d
