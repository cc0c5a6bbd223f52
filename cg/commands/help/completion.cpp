// Completion scripts for shells: after a command its options and the names among their values, else files.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cg/base/values.hpp"
#include "cg/commands/help/help_texts.hpp"

namespace cg2d {
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

}  // namespace cg2d
