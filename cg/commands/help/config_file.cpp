// Options in a file, as CLI11 reads it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/help_texts.hpp"

namespace cg2d {
namespace {

/// Whether a value begins with a quote that does not end it: CLI11 has taken the quotes of all others away.
bool has_open_quote(const std::string& value) { return value.starts_with('"') || value.starts_with('\''); }

/// The option of a command that a key names; nullptr: none.
const CLI::Option* option_of(const CLI::App& command, const std::string& key) {
  const auto* const option = command.get_option_no_throw("--" + key);
  return option != nullptr ? option : command.get_option_no_throw(key);
}

/// Throws InputError for a key that is no option of the command, and for a value that is none.
void check_item(const CLI::App& command, const CLI::ConfigItem& item) {
  const auto* const option = option_of(command, item.name);
  if (option == nullptr) {
    auto names = long_names(command);
    std::erase_if(names, [&](const auto& name) { return !option_of(command, name)->get_configurable(); });
    throw InputError("{}: not an option of cg2d {}{}", item.name, command.get_name(),
                     did_you_mean(item.name, names));
  }
  if (!option->get_configurable())
    throw InputError("{}: is given on the command line only, as --{}", item.name, item.name);
  if (item.inputs.empty() || item.inputs.front() == "{}")
    throw InputError("{}: has no value; leave the line out", item.name);
  if (std::ranges::any_of(item.inputs, has_open_quote))
    throw InputError("{}: a quote is not closed (# begins a comment within quotes, too)", item.name);
}

/// Gives the options of one command from a file to its parser.
class ConfigFile final : public CLI::ConfigTOML {
 public:
  ConfigFile(const CLI::App& command, std::string path) : command_(command), path_(std::move(path)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override try {
    const std::string text(std::istreambuf_iterator<char>(input), {});
    std::istringstream lines{std::string(without_byte_order_mark(text))};
    std::vector<CLI::ConfigItem> own;
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
      check_item(command_, item);
      const auto is_same = [&](const auto& other) {
        return option_of(command_, other.name) == option_of(command_, item.name);
      };
      if (std::ranges::any_of(own, is_same)) throw InputError("{}: given twice", item.name);
      own.push_back(std::move(item));
    }
    return own;
  } catch (const InputError& error) {
    throw InputError("--config {}: {}", path_, error.what());
  }

 private:
  const CLI::App& command_;
  std::string path_;
};

void require_held(const CLI::Option& option, const std::vector<CLI::ConfigItem>& items) {
  if (option.count() == 0 || !option.get_configurable()) return;
  const auto values = option.reduced_results();
  const bool has_list = std::ranges::any_of(values, [](const std::string& value) {
    return (value.starts_with('[') && value.ends_with(']')) || value == "{}";  // an empty one
  });
  const auto is_held = [&](const CLI::ConfigItem& item) {
    return item.name == option.get_single_name() && item.parents.empty() && item.inputs == values &&
           std::ranges::none_of(item.inputs, has_open_quote);
  };
  if (!has_list && std::ranges::any_of(items, is_held)) return;
  throw InputError(
      "--save-config: {}: no file of options can hold {}; leave out quotes, #, commas, brackets and control "
      "characters",
      option.get_name(), fmt::join(values, ","));
}

}  // namespace

void set_config_file(CLI::App& program, const CLI::App& command, const std::string& path) {
  if (text_of_named_file("--config " + path, path).empty()) throw InputError("--config {}: is empty", path);
  program.config_formatter(std::make_shared<ConfigFile>(command, path));
  program.set_config("--config", path, "")->group("");
}

std::string config_text(const CLI::App& command) {
  // CLI11 writes no escapes: what it reads back may be something else.
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  std::istringstream text(lines);
  const auto items = CLI::ConfigTOML().from_config(text);
  for (const auto* option : command.get_options()) require_held(*option, items);
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
