#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr char value_separator = '|';

/// "PXxPY", "random:SEED": a capital after the first letter stands for more than itself; classes are single capitals.
bool is_placeholder(const std::string& value) {
  return value.size() > 1 && std::ranges::any_of(value, is_upper_letter);
}

/// An option of a parser as help and completion show it: one description, read from the parser itself.
struct DescribedOption {
  std::vector<std::string> names{};  ///< "-o", "--solution"; "FILE" for an argument without a name
  std::string placeholder{};         ///< of the value: "N", "text|json|csv"; empty for a flag, or an argument
  std::string words{};               ///< values that may be typed as they stand, with blanks between
  std::string description{};
  std::string details{};  ///< after that: values, and default or "required"; none for a flag
  std::string group{};
  bool is_positional = false;
};

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

/// All options of a parser that its help shows, arguments without a name first.
std::vector<DescribedOption> described_options(const CLI::App& parser) {
  std::vector<DescribedOption> all;
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const auto* option : parser.get_options(is_shown)) all.push_back(described(*option));
  std::stable_partition(all.begin(), all.end(), [](const auto& option) { return option.is_positional; });
  return all;
}

/// The names with two dashes that the help shows, without these.
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

}  // namespace

std::string one_of(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, std::string(1, value_separator)));
}

std::vector<std::string> names_among(const std::string& value) {
  auto names = split_at(value, value_separator);
  if (value.empty() || std::ranges::any_of(names, is_placeholder)) names.clear();
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

// ---------------------------------------------------------------- completion: after a command its options and the names among their values, else files

namespace {

/// The words that may follow a command, quoted, with blanks between.
std::string words_after(const CLI::App& command) {
  auto words = fmt::format("--{}", fmt::join(long_names(command), " --"));
  for (const auto& option : described_options(command)) {
    if (!option.words.empty()) words += " " + option.words;
  }
  return shell_quoted(words);
}

/// bash, and zsh, which takes completion scripts for bash and calls this file _cg2d, each time.
std::string bash_or_zsh_script(const CLI::App& program) {
  std::string cases;
  for (const auto* command : program.get_subcommands({}))
    cases += fmt::format("    {}) words={} ;;\n", command->get_name(), words_after(*command));
  return fmt::format(R"(#compdef cg2d
# Completion of cg2d for bash and zsh. Made by: cg2d completion bash, or zsh

_cg2d_complete() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words='{} --help --version' before=
  (( COMP_CWORD > 1 )) && case ${{COMP_WORDS[1]}} in
{}  esac
  [[ $current == *,* ]] && before=${{current%,*}},
  COMPREPLY=($(compgen -P "$before" -W "$words" -- "${{current##*,}}"))
}}

if [[ -z ${{ZSH_VERSION-}} ]]; then
  complete -o default -F _cg2d_complete cg2d
else
  autoload -U +X bashcompinit && bashcompinit
  _bash_complete -o default -F _cg2d_complete
fi
)",
                     fmt::join(command_names(program), " "), cases);
}

std::string fish_script(const CLI::App& program) {
  auto script = fmt::format(
      "# Completion of cg2d for fish. Made by: cg2d completion fish\n\n"
      "complete -c cg2d -n __fish_use_subcommand -f -a '{} --help --version'\n",
      fmt::join(command_names(program), " "));
  for (const auto* command : program.get_subcommands({}))
    script += fmt::format("complete -c cg2d -n '__fish_seen_subcommand_from {}' -a {}\n", command->get_name(),
                          words_after(*command));
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& program, std::string_view shell) {
  return shell == "fish" ? fish_script(program) : bash_or_zsh_script(program);
}

// ---------------------------------------------------------------- options in a file, as CLI11 reads and writes it

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
