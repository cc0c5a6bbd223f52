#pragma once

#include <cstdint>

namespace cg2d::bench {

/// The number of the file that an emulated program closes to mark the beginning and the end of what is counted. There is no such file.
constexpr int64_t instruction_mark = -4'242'424'242;

}  // namespace cg2d::bench
