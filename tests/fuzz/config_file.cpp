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

/// A command with one option of each kind.
class Command {
 public:
  Command() : app_("a program", "cg2d") {
    auto* const run = app_.add_subcommand("run", "a command");
    run->add_option("--grid", grid_, "a text");
    run->add_option("--repeat", count_, "a number");
    run->add_option("--shift", shift_, "a number with a fraction");
    run->add_option("--classes", list_, "a list")->delimiter(',');
    run->add_flag("--verbose", flag_, "a flag");
    run->add_option("FILE", file_, "an argument without a name");
    app_.add_subcommand("solve", "another command");
    command_ = run;
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// The options as a file, after reading a file. Throws InputError and CLI::ParseError.
  std::string taken_from(std::string_view text) {
    const MemoryFile input(text);
    set_config_file(app_, *command_, input.path());
    const std::array<const char*, 2> arguments{"cg2d", "run"};
    app_.parse(static_cast<int>(arguments.size()), arguments.data());
    return config_text(*command_);
  }

 private:
  CLI::App app_;
  CLI::App* command_ = nullptr;
  std::string grid_;
  int count_ = 0;
  double shift_ = 0.0;
  std::vector<std::string> list_;
  bool flag_ = false;
  std::string file_;
};

}  // namespace

bool take_config_file(std::string_view input) {
  return accepts<InputError>([&] {
    try {
      const auto text = Command().taken_from(input);
      promise(Command().taken_from(text) == text, "saved options are read back as they are");
    } catch (const CLI::ParseError& error) {
      throw InputError(error.what());  // as the program does it
    }
  });
}

}  // namespace cg2d::fuzz
