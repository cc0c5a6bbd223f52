#include "cg/help/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/help/described_option.hpp"

namespace cg2d {

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
    own.push_back(std::move(item));
  }
  return own;
}

void ConfigFile::require_readable() const {
  std::ifstream file(path_);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    throw InputError(fmt::format("--config {}: cannot be read, or is empty", path_));
}

namespace {

/// CLI11 writes values in quotes of one kind or the other, and knows no escapes.
void require_writable(const CLI::Option& option, const std::string& value) {
  const bool has_both_quotes = value.find('"') != std::string::npos && value.find('\'') != std::string::npos;
  const bool has_control = std::ranges::any_of(
      value, [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; });
  if (!has_both_quotes && !has_control) return;
  throw InputError(fmt::format("--save-config: {}: the value {} has {}, which no file of options can hold",
                               option.get_name(), value,
                               has_control ? "a control character" : "quotes of both kinds"));
}

}  // namespace

std::string config_text(const CLI::App& command) {
  for (const auto* option : command.get_options()) {
    for (const auto& value : option->results()) require_writable(*option, value);
  }
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
