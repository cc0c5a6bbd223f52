#pragma once

// The fuzz targets, one per file. The rows of targets.inc are those of the list in fuzz.cmake.

#include <string_view>

namespace cg2d::fuzz {

/// Takes one input as the parsers would, and checks their promises. Returns whether all of it was accepted.
#define CG2D_FUZZ_TARGET(name) bool take_##name(std::string_view input);
#include "fuzz_targets.inc"
#undef CG2D_FUZZ_TARGET

}  // namespace cg2d::fuzz
