#pragma once

// Manual pages in roff, made from the parser's own commands and options.

#include <CLI/CLI.hpp>
#include <string>

namespace cg2d {

/// cg2d(1) for the program, cg2d-run(1) and its like for a command. version: "cg2d 0.1.0".
std::string man_page(const CLI::App& parser, const std::string& version);

}  // namespace cg2d
