#include "cg/help/config_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/help/described_option.hpp"

namespace cg2d {
namespace {

/// Whether a value begins with a quote that does not end it: CLI11 has taken the quotes of all others away.
bool has_open_quote(const std::string& value) { return value.starts_with('"') || value.starts_with('\''); }

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> own;
  for (auto& item : CLI::ConfigBase::from_config(input)) {
    const bool is_bracket = item.name == "++" || item.name == "--";  // CLI11's begin and end of a section
    if (item.parents.empty()) item.parents = {command_.get_name()};
    if (is_bracket || item.parents.front() != command_.get_name()) continue;
    const auto* option = command_.get_option_no_throw("--" + item.name);
    if (option == nullptr) option = command_.get_option_no_throw(item.name);
    if (option == nullptr || !option->get_configurable()) {
      throw InputError(fmt::format("--config {}: {}: not an option of cg2d {}{}", path_, item.name,
                                   command_.get_name(),
                                   did_you_mean(item.name, long_names(command_, false))));
    }
    if (std::ranges::any_of(item.inputs, has_open_quote)) {
      throw InputError(
          fmt::format("--config {}: {}: a quote is not closed (# begins a comment within quotes, too)", path_,
                      item.name));
    }
    own.push_back(std::move(item));
  }
  return own;
}

void ConfigFile::require_readable() const {
  std::optional<std::string> text;
  try {
    text = text_of_file(path_);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--config {}: {}", path_, error.what()));
  }
  if (!text) throw InputError(fmt::format("--config {}: no such file", path_));
  if (text->empty()) throw InputError(fmt::format("--config {}: is empty", path_));
}

namespace {

/// The options as CLI11 writes them, which has no escapes, and as it reads them again.
std::vector<CLI::ConfigItem> read_back(const std::string& lines) {
  std::istringstream text(lines);
  return CLI::ConfigTOML().from_config(text);
}

/// Whether CLI11 reads a list, perhaps an empty one, in place of the value.
bool is_list(const std::string& value) {
  return (value.starts_with('[') && value.ends_with(']')) || value == "{}";
}

void require_held(const CLI::Option& option, const std::vector<CLI::ConfigItem>& items) {
  if (option.count() == 0 || !option.get_configurable()) return;
  const auto values = option.reduced_results();
  const bool has_list = std::ranges::any_of(values, is_list);
  const auto is_held = [&](const CLI::ConfigItem& item) {
    return item.name == option.get_single_name() && item.parents.empty() && item.inputs == values &&
           std::ranges::none_of(item.inputs, has_open_quote);
  };
  if (!has_list && std::ranges::any_of(items, is_held)) return;
  throw InputError(
      fmt::format("--save-config: {}: no file of options can hold {}; leave out quotes, #, commas, brackets "
                  "and control characters",
                  option.get_name(), fmt::join(values, ",")));
}

}  // namespace

std::string config_text(const CLI::App& command) {
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  const auto items = read_back(lines);
  for (const auto* option : command.get_options()) require_held(*option, items);
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
