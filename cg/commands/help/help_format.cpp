#include "cg/commands/help/help_format.hpp"

#include <fmt/format.h>

#include <string_view>

#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"

namespace cg2d {
namespace {

/// A head and its text beside it; on the next line where the head is too long for that.
std::string entry(const std::string& head, const std::string& text) {
  const std::string indent(HelpFormat::text_column, ' ');
  const bool fits = head.size() + 3 < HelpFormat::text_column;
  const auto begin = fits ? fmt::format("  {:<{}}", head, HelpFormat::text_column - 2)
                          : fmt::format("  {}\n{}", head, indent);
  return begin + wrapped(text, HelpFormat::text_column, HelpFormat::width) + "\n";
}

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool /*is_positional*/) const {
  const auto facts = described(*option);
  return entry(facts.head(), facts.text());
}

std::string HelpFormat::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  return CLI::Formatter::make_group(is_positional ? "Arguments" : std::move(group), is_positional,
                                    std::move(options));
}

std::string HelpFormat::make_description(const CLI::App* parser) const {
  return wrapped(parser->get_description(), 0, width) + "\n\n";
}

std::string HelpFormat::make_subcommand(const CLI::App* parser) const {
  return entry(parser->get_name(), parser->get_description());
}

std::string HelpFormat::make_footer(const CLI::App* parser) const {
  std::string text = "\nExit codes:\n";
  for (const auto& row : exit_codes_of(*parser))
    text += entry(fmt::format("{}", static_cast<int>(row.code)), std::string(row.meaning));
  return text + "\n" + CLI::Formatter::make_footer(parser);
}

std::vector<ExitCodeRow> exit_codes_of(const CLI::App& parser) {
  std::vector<ExitCodeRow> rows;
  for (const auto& row : exit_code_table()) {
    if (parser.get_parent() == nullptr || ends_with(parser.get_name(), row)) rows.push_back(row);
  }
  return rows;
}

std::string help_text(const CLI::App& parser) {
  const bool is_command = parser.get_parent() != nullptr;
  const auto name =
      is_command ? parser.get_parent()->get_name() + " " + parser.get_name() : parser.get_name();
  // Not parser.help(), which gives the help of the command that was parsed.
  auto text = parser.get_formatter()->make_help(&parser, name, CLI::AppFormatMode::Normal);
  for (auto pair = text.find("\n\n\n"); pair != std::string::npos; pair = text.find("\n\n\n"))
    text.erase(pair, 1);
  return text;
}

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

std::string upper(std::string text) {
  for (char& letter : text) letter = upper_letter(letter);
  return text;
}

std::string item(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(head), roff(text));
}

/// The options by their groups, as --help has them.
std::string options_text(const CLI::App& parser) {
  std::string text;
  std::string group;
  for (const auto& option : described_options(parser)) {
    const auto title = option.is_positional ? std::string("Arguments") : option.group;
    if (title != group) text += fmt::format(".SS {}\n", roff(title));
    group = title;
    text += item(option.head(), option.text());
  }
  return text;
}

std::string commands_text(const CLI::App& program) {
  std::string text;
  for (const auto* command : program.get_subcommands({}))
    text += item(fmt::format("{} {}", program.get_name(), command->get_name()), command->get_description());
  return text.empty() ? text : ".SH COMMANDS\n" + text;
}

/// The footer, whose first line is the title "Examples:".
std::string examples_text(const CLI::App& parser) {
  const auto footer = parser.get_footer();
  const auto end = footer.find('\n');
  if (end == std::string::npos) return {};
  return fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(footer.substr(end + 1)));
}

std::string exit_codes_text(const CLI::App& parser) {
  std::string text =
      ".SH EXIT STATUS\nEvery rank ends with the same code. An error is one line on standard error.\n";
  for (const auto& row : exit_codes_of(parser))
    text += item(fmt::format("{}", static_cast<int>(row.code)), std::string(row.meaning));
  return text;
}

std::string see_also(const CLI::App& parser) {
  if (parser.get_parent() != nullptr) return ".SH SEE ALSO\n.BR cg2d (1)\n";
  std::string text;
  for (const auto* command : parser.get_subcommands({}))
    text += fmt::format("{}.BR cg2d\\-{} (1)", text.empty() ? "" : ",\n", command->get_name());
  return ".SH SEE ALSO\n" + text + "\n";
}

}  // namespace

std::string man_page(const CLI::App& parser, const std::string& version) {
  const bool is_command = parser.get_parent() != nullptr;
  const auto name = is_command ? fmt::format("cg2d-{}", parser.get_name()) : parser.get_name();
  const auto call = is_command ? fmt::format("cg2d {}", parser.get_name()) : "cg2d COMMAND";
  return fmt::format(
      ".TH {} 1 \"\" \"{}\" \"cg2d manual\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B mpiexec \\-n\n.I N\n.B {}\n[\\fIOPTIONS\\fR]\n"
      "{}.SH OPTIONS\n{}{}{}{}",
      upper(roff(name)), version, roff(name), roff(parser.get_description()), roff(call),
      commands_text(parser), options_text(parser), exit_codes_text(parser), examples_text(parser),
      see_also(parser));
}

}  // namespace cg2d
