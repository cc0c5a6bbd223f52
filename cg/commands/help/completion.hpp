#pragma once

// Completion scripts for shells, made from the parser's own commands and options.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace cg2d {

/// One shell; a new one is a function and its row.
struct ShellRow {
  std::string_view name;
  std::string (*script)(const CLI::App& program);
};
std::span<const ShellRow> shell_table();

}  // namespace cg2d
