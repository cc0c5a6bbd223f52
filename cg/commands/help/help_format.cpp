#include "cg/commands/help/help_format.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace cg2d
