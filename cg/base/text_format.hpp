#pragma once

// Numbers formatted for people and site scripts.

#include <cstdint>
#include <string>

namespace cg2d {

/// "12.3 MB", decimal units.
std::string format_bytes(std::int64_t byte_count);

/// A number as Fortran's E<width>.<digits> prints it: "0.2271274548263E+02".
std::string format_fortran(double value, int digits);

/// "1 rank", "2 ranks".
std::string format_count(std::int64_t count, const std::string& noun);

}  // namespace cg2d
