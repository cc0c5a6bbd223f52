#include "cg/commands/help/switches.hpp"

#include <array>

#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"

namespace cg2d {
namespace {

constexpr std::string_view off = "off";
constexpr std::string_view on = "on";

/// "off", "on", "off,on".
bool is_list_of_values(std::string_view text) {
  return std::ranges::all_of(split_at(text, ','), [](const auto& word) { return word == off || word == on; });
}

bool is_switch(const DescribedOption& option) {
  return !option.is_positional && std::ranges::equal(option.values, std::array{off, on});
}

}  // namespace

std::vector<std::string> with_switches_on(std::span<const char* const> arguments, const CLI::App& command) {
  std::vector<std::string> switches;
  bool takes_nameless = false;
  for (const auto& option : described_options(command)) {
    takes_nameless = takes_nameless || option.is_positional;
    if (is_switch(option)) switches.insert(switches.end(), option.names.begin(), option.names.end());
  }
  const auto is_value = [&](std::string_view text) {
    return is_list_of_values(text) || (!takes_nameless && !text.starts_with('-'));
  };
  std::vector<std::string> result;
  bool are_options = true;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    auto& argument = result.emplace_back(arguments[k]);
    are_options = are_options && argument != "--";
    const bool has_value = k + 1 < arguments.size() && is_value(arguments[k + 1]);
    if (are_options && !has_value && std::ranges::find(switches, argument) != switches.end())
      argument.append("=").append(on);
  }
  return result;
}

}  // namespace cg2d
