#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <array>

namespace cg2d {
namespace {

// ---------------------------------------------------------------- bash, and zsh, which takes completion scripts for bash

std::string bash_or_zsh_script(const CLI::App& program) {
  std::string options;
  std::string values;
  for (const auto* command : program.get_subcommands({})) {
    const auto& name = command->get_name();
    std::string arguments = "FILE";
    for (const auto& option : described_options(*command)) {
      const auto words = shell_quoted(option.words + (option.takes_file ? " FILE" : ""));
      if (option.is_positional && !option.words.empty()) arguments = shell_quoted(option.words);
      if (option.placeholder.empty()) continue;
      // "    run:--kernel) options= offered='auto sell' ;;"
      values += fmt::format("    {}:{}) options= offered={} ;;\n", name,
                            fmt::join(option.names, fmt::format(" | {}:", name)), words);
    }
    options += fmt::format("    {}) options='--{}' offered={} ;;\n", name,
                           fmt::join(long_names(*command), " --"), arguments);
  }
  return fmt::format(R"(#compdef cg2d
# Completion of cg2d for bash and zsh. Made by: cg2d completion bash, or zsh

_cg2d_complete() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local options= offered= files= before= newline=$'\n' IFS=$'\n'
  COMPREPLY=()
  # "--kernel=se" comes as three words.
  [[ $previous == '=' ]] && previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  [[ $current == '=' ]] && current=
  case ${{COMP_WORDS[1]}} in
{}  esac
  case ${{COMP_WORDS[1]}}:$previous in
{}  esac
  [[ $current == -* && -n $options ]] && offered=$options
  (( COMP_CWORD == 1 )) && offered='{} --help --version'
  # FILE stands for files, which zsh completes itself where no value fits.
  [[ $offered == *FILE ]] && files=on offered=${{offered%FILE}}
  [[ -n ${{ZSH_VERSION-}} && -n $files && -z $current ]] && return
  # After a comma the next value.
  [[ $current == *,* ]] && before=${{current%,*}},
  COMPREPLY=($(compgen -P "$before" -W "${{offered// /$newline}}" -- "${{current##*,}}"))
  if [[ -z ${{ZSH_VERSION-}} && -n $files ]]; then
    compopt -o filenames 2> /dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}

if [[ -z ${{ZSH_VERSION-}} ]]; then
  complete -F _cg2d_complete cg2d
else  # zsh calls this file _cg2d, each time
  autoload -U +X bashcompinit && bashcompinit
  # "--kernel=se" comes as one word.
  compset -P '--*=' && words[CURRENT,CURRENT]=("${{IPREFIX%=}}" = "$PREFIX") && (( CURRENT += 2 ))
  _bash_complete -o default -F _cg2d_complete
fi
)",
                     options, values, fmt::join(command_names(program), " "));
}

// ---------------------------------------------------------------- fish

std::string fish_script(const CLI::App& program) {
  std::string script = "# Completion of cg2d for fish. Made by: cg2d completion fish\n\n";
  for (const auto* command : program.get_subcommands({}))
    script += fmt::format("complete -c cg2d -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                          shell_quoted(command->get_description()));
  for (const auto* command : program.get_subcommands({})) {
    for (const auto& option : described_options(*command)) {
      script += fmt::format("complete -c cg2d -n '__fish_seen_subcommand_from {}'", command->get_name());
      for (const auto& name : option.names) {
        if (!option.is_positional)
          script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      const bool takes_value = option.is_positional || !option.placeholder.empty();
      if (takes_value) script += option.takes_file ? " -r -F" : option.is_positional ? " -f" : " -x";
      if (!option.words.empty()) script += " -a " + shell_quoted(option.words);
      script += " -d " + shell_quoted(option.description) + "\n";
    }
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
