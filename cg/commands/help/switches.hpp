#pragma once

// Options with the values off and on, which mean "on" where they stand alone.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

namespace cg2d {

/// The arguments of a command, its own name among them, with each such option that stands alone as "--option=on": CLI11 takes the next
/// argument for the value. An option stands alone at the end, before another option, and, where the command takes arguments
/// without a name, before anything but off, on, or a list of both.
std::vector<std::string> with_switches_on(std::span<const char* const> arguments, const CLI::App& command);

}  // namespace cg2d
