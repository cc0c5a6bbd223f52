#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <array>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// One line, with a backslash before each of these letters.
std::string escaped(std::string_view text, std::string_view letters) {
  std::string result;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result;
}

// ---------------------------------------------------------------- bash

/// "    run:--kernel) _cg2d_offer 'auto sell'; return ;;"
std::string bash_case(const std::string& command, const DescribedOption& option) {
  std::vector<std::string> patterns;
  for (const auto& name : option.names) patterns.push_back(fmt::format("{}:{}", command, name));
  return fmt::format("    {}) {} {}; return ;;\n", fmt::join(patterns, " | "),
                     option.takes_file() ? "_cg2d_files" : "_cg2d_offer",
                     shell_quoted(option.literal_values()));
}

std::string bash_script(const CLI::App& program) {
  std::string values;
  std::string options;
  std::vector<std::string> names;
  for (const auto* command : program.get_subcommands({})) {
    const auto& name = command->get_name();
    names.push_back(name);
    std::string arguments = "_cg2d_files";
    for (const auto& option : described_options(*command)) {
      if (option.is_positional && !option.values.empty())
        arguments = "_cg2d_offer " + shell_quoted(option.literal_values());
      if (!option.is_flag() && !option.is_positional) values += bash_case(name, option);
    }
    options += fmt::format("    {}) options='--{}'; arguments={} ;;\n", name,
                           fmt::join(long_names(*command), " --"), shell_quoted(arguments));
  }
  return fmt::format(R"(# Completion of cg2d for bash. Made by: cg2d completion bash

# Values out of a list; after a comma the next one.
_cg2d_offer() {{
  local before=
  [[ $current == *,* ]] && before=${{current%,*}},
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "${{current##*,}}"))
}}

# Files, and values out of a list.
_cg2d_files() {{
  local IFS=$'\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen -f -- "$current") $(IFS=' '; compgen -W "$1" -- "$current"))
}}

_cg2d() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= word options= arguments=
  COMPREPLY=()
  # "--kernel=se" comes as three words.
  [[ $previous == '=' ]] && previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  [[ $current == '=' ]] && current=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word != -* ]] && {{ command=$word; break; }}
  done
  if [[ -z $command ]]; then
    _cg2d_offer '{} --help --version'
    return
  fi
  case $command:$previous in
{}  esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $arguments ]]; then
    eval "$arguments"
  fi
}}

complete -F _cg2d cg2d
)",
                     fmt::join(names, " "), values, options);
}

// ---------------------------------------------------------------- zsh

/// Within brackets and between colons of an _arguments specification.
std::string zsh_text(std::string_view text) { return escaped(text, "[]:\\"); }

std::string zsh_action(const DescribedOption& option) {
  const auto literal = option.literal_values();
  if (option.takes_file() && literal.empty()) return "_files";
  if (option.takes_file()) return fmt::format("{{compadd - {}; _files}}", literal);
  if (literal.empty()) return " ";
  const bool is_list = option.placeholder.ends_with(",...");
  return fmt::format(fmt::runtime(is_list ? "_sequence compadd - {}" : "({})"), literal);
}

std::string zsh_option(const DescribedOption& option) {
  if (option.is_positional)
    return shell_quoted(fmt::format("*:{}:{}", zsh_text(option.names.front()), zsh_action(option)));
  const auto& name = option.names.back();
  if (option.is_flag()) return shell_quoted(fmt::format("{}[{}]", name, zsh_text(option.description)));
  return shell_quoted(fmt::format("{}=[{}]:{}:{}", name, zsh_text(option.description),
                                  zsh_text(option.placeholder), zsh_action(option)));
}

std::string zsh_script(const CLI::App& program) {
  std::string commands;
  std::string cases;
  for (const auto* command : program.get_subcommands({})) {
    commands += fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", command->get_name(),
                                                                 zsh_text(command->get_description()))));
    std::string words;
    bool has_argument = false;  // one specification takes all of them
    for (const auto& option : described_options(*command)) {
      if (option.is_positional && has_argument) continue;
      has_argument = has_argument || option.is_positional;
      words += fmt::format(" \\\n        {}", zsh_option(option));
    }
    cases += fmt::format("    {})\n      _arguments{}\n      ;;\n", command->get_name(), words);
  }
  return fmt::format(R"(#compdef cg2d
# Completion of cg2d for zsh. Made by: cg2d completion zsh

_cg2d() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}

_cg2d "$@"
)",
                     commands, cases);
}

// ---------------------------------------------------------------- fish

std::string fish_quoted(std::string_view text) { return "'" + escaped(text, "'\\") + "'"; }

std::string fish_option(const std::string& command, const DescribedOption& option) {
  auto line = fmt::format("complete -c cg2d -n '__fish_seen_subcommand_from {}'", command);
  for (const auto& name : option.names) {
    if (!option.is_positional)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const auto literal = option.literal_values();
  if (option.takes_file()) {
    line += literal.empty() ? " -r -F" : " -r -F -a " + fish_quoted(literal);
  } else if (!option.is_flag() || !literal.empty()) {
    line += option.is_positional ? " -f" : " -x";
    if (!literal.empty()) line += " -a " + fish_quoted(literal);
  }
  return line + " -d " + fish_quoted(option.description) + "\n";
}

std::string fish_script(const CLI::App& program) {
  std::string script = "# Completion of cg2d for fish. Made by: cg2d completion fish\n\n";
  for (const auto* command : program.get_subcommands({}))
    script += fmt::format("complete -c cg2d -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                          fish_quoted(command->get_description()));
  for (const auto* command : program.get_subcommands({})) {
    for (const auto& option : described_options(*command)) script += fish_option(command->get_name(), option);
  }
  return script;
}

}  // namespace

std::span<const ShellRow> shell_table() {
  static constexpr std::array table{ShellRow{.name = "bash", .script = &bash_script},
                                    ShellRow{.name = "zsh", .script = &zsh_script},
                                    ShellRow{.name = "fish", .script = &fish_script}};
  return table;
}

}  // namespace cg2d
