#pragma once

// The phases of one CG step, as the paper takes it apart.

#include <cstddef>
#include <string_view>

namespace cg2d {

/// The phases of one CG step; names as in the paper (Itakura et al. 1998).
enum class Phase { collection, multiply, summation, shuffle, dot, vector_updates };
inline constexpr std::size_t phase_count = 6;

std::string_view phase_name(Phase phase);
/// The phase of that index, for loops over all of them.
inline Phase phase_at(std::size_t index) { return static_cast<Phase>(index); }

}  // namespace cg2d
