#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <array>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- bash, and zsh, which takes completion scripts for bash

std::string bash_or_zsh_script(const CLI::App& program) {
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
      if (option.placeholder.empty()) continue;
      // "    run:--kernel) _cg2d_offer 'auto sell'; return ;;"
      values += fmt::format(
          "    {0}:{1}) {2} {3}; return ;;\n", name, fmt::join(option.names, fmt::format(" | {}:", name)),
          option.takes_file() ? "_cg2d_files" : "_cg2d_offer", shell_quoted(option.literal_values()));
    }
    options += fmt::format("    {}) options='--{}'; arguments={} ;;\n", name,
                           fmt::join(long_names(*command), " --"), shell_quoted(arguments));
  }
  return fmt::format(R"(#compdef cg2d
# Completion of cg2d for bash and zsh. Made by: cg2d completion bash, or zsh

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

_cg2d_complete() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= word options= arguments=
  COMPREPLY=()
  # "--kernel=se" comes as three words.
  [[ $previous == '=' ]] && previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  [[ $current == '=' ]] && current=
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
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

if [[ -z ${{ZSH_VERSION-}} ]]; then
  complete -F _cg2d_complete cg2d
else  # zsh calls this file _cg2d, each time
  autoload -U +X bashcompinit && bashcompinit
  # Where no value fits, zsh completes files.
  _cg2d_files() {{ [[ -n $current ]] && _cg2d_offer "$1"; }}
  # "--kernel=se" comes as one word.
  compset -P '--*=' && words[CURRENT,CURRENT]=("${{IPREFIX%=}}" = "$PREFIX") && (( CURRENT += 2 ))
  _bash_complete -o default -F _cg2d_complete
fi
)",
                     fmt::join(names, " "), values, options);
}

// ---------------------------------------------------------------- fish

/// One line between single quotes.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter == '\n' ? ' ' : letter;
  }
  return quoted + "'";
}

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

std::span<const NamedValue<ShellScript>> shell_table() {
  static constexpr std::array table{NamedValue<ShellScript>{"bash", bash_or_zsh_script},
                                    NamedValue<ShellScript>{"zsh", bash_or_zsh_script},
                                    NamedValue<ShellScript>{"fish", fish_script}};
  return table;
}

}  // namespace cg2d
