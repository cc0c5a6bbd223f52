#pragma once

// The pattern of every subcommand of the program: declare options, then return the action.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/errors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The work that a command line asks for: collective, the same exit code on every rank. Throws RunError
/// (on every rank alike), MpiError, std::bad_alloc.
using Action = std::function<ExitCode(comm::RankGroup& group)>;

/// Prints a text to standard output, from rank 0.
Action print_text(std::string text);
/// The same for a text that rank 0 makes when the action runs; `make` may throw RunError.
Action print_made_text(std::function<std::string()> make);

/// The command line of one subcommand. Holds its parsed arguments; must outlive the parser.
class Subcommand {
 public:
  Subcommand() = default;
  virtual ~Subcommand() = default;
  Subcommand(const Subcommand&) = delete;
  Subcommand& operator=(const Subcommand&) = delete;
  Subcommand(Subcommand&&) = delete;
  Subcommand& operator=(Subcommand&&) = delete;

  virtual void add_options(CLI::App& parser) = 0;
  /// After parsing. Throws InputError.
  [[nodiscard]] virtual Action action() const = 0;
};

/// One subcommand; a new one is one file that defines a row, and its entry in subcommand_table().
struct SubcommandRow {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Subcommand> (*make)();
};
std::span<const SubcommandRow> subcommand_table();

}  // namespace cg2d
