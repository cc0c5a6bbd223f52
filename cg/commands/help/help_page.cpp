#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr char value_separator = '|';

/// "PXxPY", "random:SEED": a capital after the first letter stands for more than itself; classes are single capitals.
bool is_placeholder(const std::string& value) {
  return value.size() > 1 && std::ranges::any_of(value, is_upper_letter);
}

DescribedOption described(const CLI::Option& option) {
  DescribedOption described{.description = option.get_description(),
                            .group = option.get_group(),
                            .is_positional = !option.nonpositional()};
  auto& [names, placeholder, words, description, details, group, is_positional] = described;
  if (is_positional) {
    names = {option.get_name(true, false)};
  } else {
    for (const auto& name : option.get_snames()) names.push_back("-" + name);
    names.push_back("--" + option.get_lnames().front());  // others are former names
  }
  if (option.get_type_size() == 0 || option.get_items_expected_max() == 0) return described;
  const auto type = option.get_type_name();
  const bool is_list = option.get_delimiter() != '\0';
  const bool has_values = type.find(value_separator) != std::string::npos;
  auto values = has_values ? split_at(type, value_separator) : std::vector<std::string>{};
  constexpr size_t most_columns = 26;  // columns of name and values, beside the text of the help
  const bool fits = !is_list && names.back().size() + 1 + type.size() <= most_columns;
  if (!is_positional) placeholder = (!has_values || fits ? type : "NAME") + (is_list ? ",..." : "");
  if (has_values && (is_positional || !fits)) details = fmt::format("; values: {}", fmt::join(values, ", "));
  const auto usual = option.get_default_str();
  details +=
      option.get_required() ? " (required)" : fmt::format(" (default: {})", usual.empty() ? "none" : usual);
  std::erase_if(values, is_placeholder);
  words = fmt::format("{}", fmt::join(values, " "));
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

std::vector<DescribedOption> described_options(const CLI::App& parser) {
  std::vector<DescribedOption> all;
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const auto* option : parser.get_options(is_shown)) all.push_back(described(*option));
  std::stable_partition(all.begin(), all.end(), [](const auto& option) { return option.is_positional; });
  return all;
}

std::vector<std::string> long_names(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const auto& option : described_options(parser)) {
    if (!option.is_positional) names.push_back(option.names.back().substr(2));
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

// ---------------------------------------------------------------- --help

namespace {

constexpr size_t page_width = 100;
/// Where descriptions begin.
constexpr size_t text_column = 30;

/// Lines of at most `page_width` columns, each but the first with `indent` blanks before it.
std::string wrapped(std::string_view text, size_t indent) {
  std::string result;
  size_t column = indent;
  for (const auto& word : split_at(text, ' ')) {
    const bool begins_line = column == indent;
    if (!begins_line && column + 1 + word.size() > page_width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!begins_line) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace

std::string help_text(const CLI::App& parser) {
  std::vector<std::pair<std::string, std::string>> sections;  // their titles and lines
  const auto add = [&](const std::string& title, const std::string& head, std::string_view meaning) {
    auto section = std::ranges::find(sections, title, &std::pair<std::string, std::string>::first);
    if (section == sections.end()) section = sections.insert(section, {title, {}});
    const bool fits = head.size() + 3 < text_column;  // else the meaning is on the next line
    section->second += fits ? fmt::format("  {:<{}}", head, text_column - 2)
                            : fmt::format("  {}\n{:{}}", head, "", text_column);
    section->second += wrapped(meaning, text_column) + "\n";
  };
  for (const auto& option : described_options(parser))
    add(option.is_positional ? "Arguments" : option.group,
        fmt::format("{}{}{}", fmt::join(option.names, ","), option.placeholder.empty() ? "" : " ",
                    option.placeholder),
        option.description + option.details);
  for (const auto* command : parser.get_subcommands({}))
    add("Commands", command->get_name(), command->get_description());
  const auto* const program = parser.get_parent();
  for (const auto& row : exit_code_table()) {
    if (program == nullptr || ends_with(parser.get_name(), row))
      add("Exit codes", fmt::format("{}", static_cast<int>(row.code)), row.meaning);
  }
  const auto call = (program == nullptr ? "" : program->get_name() + " ") + parser.get_name();
  auto text = wrapped(parser.get_description(), 0) + "\n\n" + CLI::Formatter().make_usage(&parser, call);
  for (const auto& [title, lines] : sections) text += fmt::format("\n{}:\n{}", title, lines);
  return fmt::format("{}\n{}\n", text, parser.get_footer());
}

// ---------------------------------------------------------------- misspelt names

namespace {

/// "--kernel=sell" and "-kernel" -> "kernel".
std::string bare_name(std::string_view argument) {
  const auto begin = std::min(argument.find_first_not_of('-'), argument.size());
  return std::string(argument.substr(begin, argument.find('=') - begin));
}

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

}  // namespace

std::string unknown_command_message(const CLI::App& program, const std::string& name) {
  const auto names = command_names(program);
  const auto hint = is_option(name) ? did_you_mean(bare_name(name), {"help", "version"}, "--")
                                    : did_you_mean(name, names, "cg2d ");
  if (!hint.empty()) return fmt::format("{}: unknown{} (cg2d help lists the commands)", name, hint);
  return fmt::format("{}: unknown; valid: {}, --help, --version (as in: cg2d run --help)", name,
                     fmt::join(names, ", "));
}

std::string unexpected_argument_message(const CLI::App& program, const CLI::App* parsed) {
  const auto arguments = program.remaining(true);
  if (arguments.empty()) return {};
  if (parsed == nullptr) return unknown_command_message(program, arguments.front());
  const auto option = std::ranges::find_if(arguments, is_option);
  const auto& argument = option == arguments.end() ? arguments.front() : *option;
  const auto shown = argument.substr(0, is_option(argument) ? argument.find('=') : std::string::npos);
  const auto name = bare_name(argument);
  const auto has_it = [&](const CLI::App* command) {
    return command->get_option_no_throw("--" + name) != nullptr;
  };
  auto hint = did_you_mean(name, long_names(*parsed), "--");
  const auto owners = program.get_subcommands(has_it);
  // The command itself has it where it was written with one dash.
  if (!has_it(parsed) && !owners.empty()) hint = fmt::format("; cg2d {} has it", owners.front()->get_name());
  return fmt::format("{0}: not an option of cg2d {1}{2} (see cg2d {1} --help)", shown, parsed->get_name(),
                     hint);
}

}  // namespace cg2d
