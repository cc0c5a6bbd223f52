#include "cg/help/config_file.hpp"

#include <fmt/format.h>

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

std::string config_text(const CLI::App& command) {
  const auto lines = CLI::ConfigTOML().to_config(&command, false, false, "");
  return fmt::format("[{}]\n{}", command.get_name(), lines);
}

}  // namespace cg2d
