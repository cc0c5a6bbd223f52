// The file of --config: what a command takes from it is what --save-config writes, and is read back equal.

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/help/help_texts.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

/// The options of a command, which has one of each kind, as a file, after reading a file. Throws InputError and CLI::ParseError.
std::string taken_from(std::string_view text) {
  std::string grid;
  int count = 0;
  double shift = 0.0;
  std::vector<std::string> list;
  bool flag = false;
  std::string file;
  CLI::App app("a program", "cg2d");
  auto& run = *app.add_subcommand("run", "a command");
  run.add_option("--grid", grid, "a text");
  run.add_option("--repeat", count, "a number");
  run.add_option("--shift", shift, "a number with a fraction");
  run.add_option("--classes", list, "a list")->delimiter(',');
  run.add_flag("--verbose", flag, "a flag");
  run.add_option("FILE", file, "an argument without a name");
  app.add_subcommand("solve", "another command");
  const MemoryFile input(text);
  set_config_file(app, run, input.path());
  const std::array<const char*, 2> arguments{"cg2d", "run"};
  app.parse(static_cast<int>(arguments.size()), arguments.data());
  return config_text(run);
}

}  // namespace

bool take_config_file(std::string_view input) {
  return accepts<InputError>([&] {
    try {
      const auto text = taken_from(input);
      promise(taken_from(text) == text, "saved options are read back as they are");
    } catch (const CLI::ParseError& error) {
      throw InputError(error.what());  // as the program does it
    }
  });
}

}  // namespace cg2d::fuzz
