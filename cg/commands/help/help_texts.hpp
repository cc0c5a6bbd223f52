#pragma once

// Texts about the command line, all made from the parser's own commands and options: --help of at most 100 columns, from which help2man makes
// manual pages, completion scripts for shells, files of options, and messages about commands and options that do not exist, with the one that
// was probably meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace cg2d {

/// The kind of a value out of some names: "text|json|csv". Words in capitals stand for values that are not known by
/// name: "auto|rule|PXxPY".
std::string one_of(const std::vector<std::string>& values);
/// The names of such a kind; none where a value need not be one of them.
std::vector<std::string> names_among(const std::string& value);

/// The parser of the command of that name; nullptr: there is none.
const CLI::App* find_command(const CLI::App& program, std::string_view name);

/// Lets the program read a file of options (TOML, one section per command) for this command, as its option --config. Keys before the first
/// section, and those of the section of the command, belong to it; the sections of other commands are left alone. text: of the file, where it
/// has been read: nobody reads it again. Throws InputError for a file that cannot be read; the parser throws it for a section that is no command, a key that is no option of its command, and one that
/// is given twice or has no value.
void set_config_file(CLI::App& program, const CLI::App& command, const std::string& path,
                     const std::optional<std::string>& text = {});
/// The options given, as a section that --config reads back. Throws InputError for a value that such a file cannot hold.
std::string config_text(const CLI::App& command);

/// Description, usage, commands, options by their groups with defaults and values, exit codes, and examples.
std::string help_text(const CLI::App& parser);

/// The script for one of completion_shells().
std::string completion_script(const CLI::App& program, std::string_view shell);
inline std::vector<std::string> completion_shells() { return {"bash", "zsh", "fish"}; }

/// The message about a command that `program` does not have.
std::string unknown_command_message(const CLI::App& program, const std::string& name);
/// The message about the first argument that nothing took; empty: there is none. parsed: the parser of the command,
/// nullptr without one. The first option comes before other arguments, which may be its value.
std::string unexpected_argument_message(const CLI::App& program, const CLI::App* parsed);

}  // namespace cg2d
