#pragma once

// Options in a file (TOML, as CLI11 reads it): one section per command.

#include <CLI/CLI.hpp>
#include <string>

namespace cg2d {

/// Gives the options of one command from a file to its parser. Keys before the first section, and those of the
/// section of that command, belong to it; the sections of other commands are left alone. Throws InputError for
/// a section that is no command, a key that is no option of its command, one that is given twice or has no value, and for a file
/// that cannot be read.
class ConfigFile : public CLI::ConfigTOML {
 public:
  ConfigFile(const CLI::App& command, std::string path) : command_(command), path_(std::move(path)) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
  void require_readable() const;

 private:
  const CLI::App& command_;
  std::string path_;
};

/// The options given, as a section that --config reads back. Throws InputError for a value that such a file cannot hold.
std::string config_text(const CLI::App& command);

}  // namespace cg2d
