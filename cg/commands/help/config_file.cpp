// Options in a file, as CLI11 reads and writes it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/help_texts.hpp"

namespace cg2d {
namespace {

/// Whether a value begins with a quote that does not end it: CLI11 has taken the quotes of all others away.
bool has_open_quote(const std::string& value) { return value.starts_with('"') || value.starts_with('\''); }

/// CLI11's files, without what it would pass over: that is refused. Keys before the first section are for whichever command reads the file.
class ConfigFile final : public CLI::ConfigTOML {
 public:
  ConfigFile(const CLI::App& command, const std::string& path, const std::optional<std::string>& text)
      : command_(command), name_("--config " + path), text_(text ? *text : text_of_named_file(name_, path)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& /*input*/) const override {
    std::istringstream lines(text_);
    std::vector<CLI::ConfigItem> own;
    std::set<const CLI::Option*> given;
    const auto all = CLI::ConfigBase::from_config(lines);
    if (text_.empty()) throw InputError("{}: holds no options", name_);
    for (const auto& item : all) {
      const auto section =
          item.parents.empty() ? command_.get_name() : fmt::format("{}", fmt::join(item.parents, "."));
      require_known(name_ + ": section", section, command_names(*command_.get_parent()));
      // CLI11's begin and end of a section are items, too.
      if (section != command_.get_name() || item.name == "++" || item.name == "--") continue;
      const auto* option = command_.get_option_no_throw("--" + item.name);
      if (option == nullptr) option = command_.get_option_no_throw(item.name);
      if (option == nullptr || !option->get_configurable())
        throw InputError("{}: {}: not an option of cg2d {} in a file{}", name_, item.name,
                         command_.get_name(),
                         option == nullptr ? did_you_mean(item.name, long_names(command_)) : "");
      if (item.inputs.empty() || item.inputs.front() == "{}" ||
          std::ranges::any_of(item.inputs, has_open_quote) || !given.insert(option).second)
        throw InputError("{}: {}: must be given once, with a value (# begins a comment within quotes, too)",
                         name_, item.name);
      own.push_back(item);
      own.back().parents = {command_.get_name()};
    }
    return own;
  }

 private:
  const CLI::App& command_;
  std::string name_;
  std::string text_;
};

}  // namespace

void set_config_file(CLI::App& program, const CLI::App& command, const std::string& path,
                     const std::optional<std::string>& text) {
  program.config_formatter(std::make_shared<ConfigFile>(command, path, text));
  program.set_config("--config", "/dev/null", "")->group("");  // CLI11 opens it, too: a pipe would be empty
}

std::string config_text(const CLI::App& command) {
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  std::istringstream text(lines);
  const auto items = CLI::ConfigTOML().from_config(text);
  for (const auto* option : command.get_options()) {
    if (option->count() == 0 || !option->get_configurable()) continue;
    // CLI11 writes no escapes: what it reads back may be something else, and it takes [x] for a list.
    const auto values = option->reduced_results();
    const auto is_no_text = [](const std::string& value) {
      return has_open_quote(value) || value.starts_with('[') || value == "{}";
    };
    const auto is_held = [&](const CLI::ConfigItem& item) {
      return item.name == option->get_single_name() && item.parents.empty() && item.inputs == values;
    };
    if (std::ranges::none_of(values, is_no_text) && std::ranges::any_of(items, is_held)) continue;
    throw InputError(
        "--save-config: {}: no file of options can hold {}; leave out quotes, #, commas, brackets and "
        "control characters",
        option->get_name(), fmt::join(values, ","));
  }
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
