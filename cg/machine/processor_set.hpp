#pragma once

// Sets of logical processors, and their texts as Linux writes them.

#include <string>
#include <vector>

namespace cg2d {

/// Numbers of logical processors, rising.
using ProcessorSet = std::vector<int>;

/// "0-3,8" -> 0, 1, 2, 3, 8; the set up to the first place that is no list. Empty for an empty text.
ProcessorSet processors_from(const std::string& list);
/// 0, 1, 2, 3, 8 -> "0-3,8".
std::string list_of(const ProcessorSet& processors);

ProcessorSet common_processors(const ProcessorSet& left, const ProcessorSet& right);
ProcessorSet all_processors(const ProcessorSet& left, const ProcessorSet& right);

}  // namespace cg2d
