#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cg/base/errors.hpp"

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
  auto& [names, placeholder, words, description, details, group, is_positional, takes_file] = described;
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
  takes_file = std::ranges::count(values, "FILE") > 0 || placeholder.find("FILE") != std::string::npos ||
               (is_positional && names.front() != "COMMAND");
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

// ---------------------------------------------------------------- pages

namespace {

/// "--n N", and what it does.
struct Entry {
  std::string head;
  std::string text;
};
struct Section {
  std::string title;
  std::vector<Entry> entries;
};

/// The options by their groups, arguments without a name first.
std::vector<Section> option_sections(const CLI::App& parser) {
  std::vector<Section> sections;
  for (const auto& option : described_options(parser)) {
    const auto title = option.is_positional ? std::string("Arguments") : option.group;
    auto section = std::ranges::find(sections, title, &Section::title);
    if (section == sections.end()) section = sections.insert(section, Section{title, {}});
    auto head = fmt::format("{}", fmt::join(option.names, ","));
    if (!option.placeholder.empty()) head += " " + option.placeholder;
    section->entries.push_back({std::move(head), option.description + option.details});
  }
  return sections;
}

/// prefix: before their names.
std::vector<Entry> commands_of(const CLI::App& parser, const std::string& prefix = {}) {
  std::vector<Entry> entries;
  for (const auto* command : parser.get_subcommands({}))
    entries.push_back({prefix + command->get_name(), command->get_description()});
  return entries;
}

/// The exit codes that a command can end with; all of them for the program.
std::vector<Entry> exit_codes_of(const CLI::App& parser) {
  std::vector<Entry> entries;
  for (const auto& row : exit_code_table()) {
    if (parser.get_parent() == nullptr || ends_with(parser.get_name(), row))
      entries.push_back({fmt::format("{}", static_cast<int>(row.code)), std::string(row.meaning)});
  }
  return entries;
}

// ---------------------------------------------------------------- --help

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
  auto sections = option_sections(parser);
  sections.push_back({"Commands", commands_of(parser)});
  sections.push_back({"Exit codes", exit_codes_of(parser)});
  const auto* const program = parser.get_parent();
  const auto call = (program == nullptr ? "" : program->get_name() + " ") + parser.get_name();
  auto text = wrapped(parser.get_description(), 0) + "\n\n" + CLI::Formatter().make_usage(&parser, call);
  for (const auto& [title, entries] : sections) {
    if (!entries.empty()) text += fmt::format("\n{}:\n", title);
    for (const auto& [head, meaning] : entries) {
      const bool fits = head.size() + 3 < text_column;  // else the meaning is on the next line
      text += fits ? fmt::format("  {:<{}}", head, text_column - 2)
                   : fmt::format("  {}\n{:{}}", head, "", text_column);
      text += wrapped(meaning, text_column) + "\n";
    }
  }
  return fmt::format("{}\n{}\n", text, parser.get_footer());
}

// ---------------------------------------------------------------- manual pages

namespace {

/// Text that roff shows as it stands; lines that begin with a dot or a quote are no requests.
std::string roff(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char letter : text) {
    if (begins_line && (letter == '.' || letter == '\'')) result += "\\&";
    begins_line = letter == '\n';
    if (letter == '\\' || letter == '-') result += '\\';
    result += letter == '\\' ? 'e' : letter;
  }
  return result;
}

std::string roff_items(const std::vector<Entry>& entries) {
  std::string text;
  for (const auto& [head, meaning] : entries)
    text += fmt::format(".TP\n.B {}\n{}\n", roff(head), roff(meaning));
  return text;
}

}  // namespace

std::string man_page(const CLI::App& parser, const std::string& version) {
  const bool is_program = parser.get_parent() == nullptr;
  const auto name = roff(is_program ? parser.get_name() : "cg2d-" + parser.get_name());
  auto title = name;
  std::ranges::transform(title, title.begin(), upper_letter);
  std::string options;
  for (const auto& [group, entries] : option_sections(parser))
    options += fmt::format(".SS {}\n{}", roff(group), roff_items(entries));
  std::vector<std::string> others;
  for (const auto& command : command_names(parser)) others.push_back("cg2d\\-" + command);
  if (!is_program) others.emplace_back("cg2d");
  const auto examples = parser.get_footer();  // its first line is the title "Examples:"
  return fmt::format(
      ".TH {} 1 \"\" \"{}\" \"cg2d manual\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B mpiexec \\-n\n.I N\n.B {}\n[\\fIOPTIONS\\fR]\n"
      "{}{}.SH OPTIONS\n{}"
      ".SH EXIT STATUS\nEvery rank ends with the same code. An error is one line on standard error.\n{}"
      ".SH EXAMPLES\n.nf\n{}\n.fi\n"
      ".SH SEE ALSO\n.BR {} (1)\n",
      title, version, name, roff(parser.get_description()),
      is_program ? "cg2d COMMAND" : roff("cg2d " + parser.get_name()), is_program ? ".SH COMMANDS\n" : "",
      roff_items(commands_of(parser, "cg2d ")), options, roff_items(exit_codes_of(parser)),
      roff(examples.substr(examples.find('\n') + 1)), fmt::join(others, " (1),\n.BR "));
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
