// Options in a file, as CLI11 reads and writes it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/commands/help/help_texts.hpp"

namespace cg2d {
namespace {

/// Whether a value begins with a quote that does not end it: CLI11 has taken the quotes of all others away.
bool has_open_quote(const std::string& value) { return value.starts_with('"') || value.starts_with('\''); }

/// Gives the options of one command from a file to its parser. CLI11 itself would pass over what is none.
class ConfigFile final : public CLI::ConfigTOML {
 public:
  ConfigFile(const CLI::App& command, const std::string& path)
      : command_(command), name_("--config " + path), text_(text_of_named_file(name_, path)) {
    if (text_.empty()) throw InputError("{}: is empty", name_);
  }

  std::vector<CLI::ConfigItem> from_config(std::istream& /*input*/) const override try {
    std::istringstream lines(text_);
    std::vector<CLI::ConfigItem> own;
    std::set<const CLI::Option*> given;
    for (auto& item : CLI::ConfigBase::from_config(lines)) {
      const auto& program = *command_.get_parent();
      auto& section = item.parents;
      if (section.empty()) section = {command_.get_name()};
      const auto* const command = section.size() == 1 ? find_command(program, section.front()) : nullptr;
      if (command == nullptr)
        throw InputError("[{}]: a section is for a command of cg2d, and there is none of that name{}",
                         fmt::join(section, "."), did_you_mean(section.front(), command_names(program)));
      // CLI11's begin and end of a section are items, too.
      if (command != &command_ || item.name == "++" || item.name == "--") continue;
      const auto* option = command_.get_option_no_throw("--" + item.name);
      if (option == nullptr) option = command_.get_option_no_throw(item.name);
      if (option == nullptr) {
        auto names = long_names(command_);
        std::erase_if(
            names, [&](const auto& name) { return !command_.get_option("--" + name)->get_configurable(); });
        throw InputError("{}: not an option of cg2d {}{}", item.name, command_.get_name(),
                         did_you_mean(item.name, names));
      }
      if (!option->get_configurable())
        throw InputError("{}: is given on the command line only, as --{}", item.name, item.name);
      if (!given.insert(option).second) throw InputError("{}: given twice", item.name);
      if (item.inputs.empty() || item.inputs.front() == "{}")
        throw InputError("{}: has no value; leave the line out", item.name);
      if (std::ranges::any_of(item.inputs, has_open_quote))
        throw InputError("{}: a quote is not closed (# begins a comment within quotes, too)", item.name);
      own.push_back(std::move(item));
    }
    return own;
  } catch (const InputError& error) {
    throw InputError("{}: {}", name_, error.what());
  }

 private:
  const CLI::App& command_;
  std::string name_;
  std::string text_;
};

}  // namespace

void set_config_file(CLI::App& program, const CLI::App& command, const std::string& path) {
  program.config_formatter(std::make_shared<ConfigFile>(command, path));
  program.set_config("--config", path, "")->group("");
}

std::string config_text(const CLI::App& command) {
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  std::istringstream text(lines);
  const auto items = CLI::ConfigTOML().from_config(text);
  for (const auto* option : command.get_options()) {
    if (option->count() == 0 || !option->get_configurable()) continue;
    // CLI11 writes no escapes: what it reads back may be something else.
    const auto values = option->reduced_results();
    const auto is_list = [](const std::string& value) {
      return (value.starts_with('[') && value.ends_with(']')) || value == "{}";  // an empty one
    };
    const auto is_held = [&](const CLI::ConfigItem& item) {
      return item.name == option->get_single_name() && item.parents.empty() && item.inputs == values &&
             std::ranges::none_of(values, has_open_quote);
    };
    if (std::ranges::none_of(values, is_list) && std::ranges::any_of(items, is_held)) continue;
    throw InputError(
        "--save-config: {}: no file of options can hold {}; leave out quotes, #, commas, brackets and "
        "control characters",
        option->get_name(), fmt::join(values, ","));
  }
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
