#pragma once

// Where ranks are on a machine.

#include <string>
#include <string_view>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d {

/// The values of --placement, but for the path of a file.
inline constexpr std::string_view placement_values = "row-major, blocked, random:SEED, file:FILE";

/// The place of each rank: [rank], each once; place / (ranks of a node) is its node. row-major: that of its number, so process rows are
/// together. blocked: tiles of the grid of ranks are together, as nearly square as `together` ranks can be. random: by the seed, the same on
/// every machine. file: a number for each rank. Local: reads the file. Throws InputError: the option, the text, and what would be valid.
std::vector<int> places_from(std::string_view placement, const comm::ProcessGrid& grid, int together);

}  // namespace cg2d
