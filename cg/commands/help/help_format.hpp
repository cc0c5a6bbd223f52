#pragma once

// The layout of --help: at most 100 columns, defaults or "required", and the values that an option takes; and manual pages in roff. Both are made
// from the parser's own commands and options.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d {

class HelpFormat : public CLI::Formatter {
 public:
  static constexpr std::size_t width = 100;
  /// Where descriptions begin.
  static constexpr std::size_t text_column = 30;

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_description(const CLI::App* parser) const override;
  std::string make_subcommand(const CLI::App* parser) const override;
  std::string make_footer(const CLI::App* parser) const override;
};

/// The exit codes that a command can end with; all of them for the program.
std::vector<ExitCodeRow> exit_codes_of(const CLI::App& parser);

/// The help of a parser without blank lines in pairs.
std::string help_text(const CLI::App& parser);

/// cg2d(1) for the program, cg2d-run(1) and its like for a command. version: "cg2d 0.1.0".
std::string man_page(const CLI::App& parser, const std::string& version);

}  // namespace cg2d
