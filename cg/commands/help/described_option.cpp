#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr char value_separator = '|';

/// "PXxPY", "random:SEED": a capital after the first letter stands for more than itself; classes are single capitals.
bool is_placeholder(const std::string& value) {
  return value.size() > 1 && std::ranges::any_of(value, is_upper_letter);
}

DescribedOption described(const CLI::Option& option) {
  DescribedOption described;
  described.description = option.get_description();
  described.group = option.get_group();
  described.is_positional = !option.nonpositional();
  if (described.is_positional) {
    described.names = {option.get_name(true, false)};
  } else {
    for (const auto& name : option.get_snames()) described.names.push_back("-" + name);
    described.names.push_back("--" + option.get_lnames().front());  // others are former names
  }
  if (option.get_type_size() == 0 || option.get_items_expected_max() == 0) return described;
  const auto usual = option.get_default_str();
  described.standing = option.get_required() ? "required" : "default: " + (usual.empty() ? "none" : usual);
  const auto type = option.get_type_name();
  const bool is_list = option.get_delimiter() != '\0';
  if (type.find(value_separator) == std::string::npos) {
    described.placeholder = is_list ? type + ",..." : type;
  } else {
    constexpr std::size_t most_columns = 26;  // columns of name and values, beside the text of the help
    described.values = split_at(type, value_separator);
    const bool fits = !is_list && described.names.back().size() + 1 + type.size() <= most_columns;
    described.placeholder = fits ? type : is_list ? "NAME,..." : "NAME";
  }
  if (described.is_positional) described.placeholder.clear();
  return described;
}

}  // namespace

std::string one_of(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, std::string(1, value_separator)));
}

std::vector<std::string> names_among(const std::string& value) {
  auto names = split_at(value, value_separator);
  if (value.empty() || std::ranges::any_of(names, is_placeholder)) names.clear();
  return names;
}

bool DescribedOption::takes_file() const {
  return std::ranges::count(values, "FILE") > 0 || placeholder.find("FILE") != std::string::npos ||
         (is_positional && names.front() != "COMMAND");
}

std::string DescribedOption::literal_values() const {
  std::vector<std::string> literal;
  std::ranges::remove_copy_if(values, std::back_inserter(literal), is_placeholder);
  return fmt::format("{}", fmt::join(literal, " "));
}

std::string DescribedOption::head() const {
  const auto names_text = fmt::format("{}", fmt::join(names, ","));
  return is_flag() || is_positional ? names_text : fmt::format("{} {}", names_text, placeholder);
}

std::string DescribedOption::text() const {
  std::string text = description;
  if (!values.empty() && placeholder.find(value_separator) == std::string::npos)
    text += fmt::format("; {}: {}", values.size() == 1 ? "value" : "values", fmt::join(values, ", "));
  return standing.empty() ? text : fmt::format("{} ({})", text, standing);
}

std::vector<DescribedOption> described_options(const CLI::App& parser) {
  std::vector<DescribedOption> all;
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const auto* option : parser.get_options(is_shown)) all.push_back(described(*option));
  std::stable_partition(all.begin(), all.end(), [](const auto& option) { return option.is_positional; });
  return all;
}

std::vector<std::string> long_names(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const auto* option : parser.get_options({})) {
    const auto& all = option->get_lnames();
    if (!all.empty() && !option->get_group().empty()) names.push_back(all.front());
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const auto* command : program.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

const CLI::App* find_command(const CLI::App& program, std::string_view name) {
  const auto found =
      program.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

}  // namespace cg2d
