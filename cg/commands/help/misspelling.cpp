#include "cg/commands/help/help_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"

namespace cg2d {
namespace {

/// "--kernel=sell" and "-kernel" -> "kernel".
std::string bare_name(std::string_view argument) {
  const auto begin = std::min(argument.find_first_not_of('-'), argument.size());
  return std::string(argument.substr(begin, argument.find('=') - begin));
}

/// "; cg2d scaling has it": where another command has an option of exactly that name.
std::string owner_of(const CLI::App& parser, const std::string& name) {
  for (const auto* other : parser.get_parent()->get_subcommands({})) {
    if (other != &parser && other->get_option_no_throw("--" + name) != nullptr)
      return fmt::format("; cg2d {} has it", other->get_name());
  }
  return {};
}

bool is_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

/// The message about an option that `parser` does not have, or about one argument too many.
std::string unknown_option_message(const CLI::App& parser, const std::string& argument) {
  const auto shown = argument.substr(0, is_option(argument) ? argument.find('=') : std::string::npos);
  const auto name = bare_name(argument);
  const bool has_it = parser.get_option_no_throw("--" + name) != nullptr;  // "-kernel", with one dash
  auto hint = has_it ? std::string() : owner_of(parser, name);
  if (hint.empty()) hint = did_you_mean(name, long_names(parser), "--");
  return fmt::format("{0}: not an option of cg2d {1}{2} (see cg2d {1} --help)", shown, parser.get_name(),
                     hint);
}

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
  const auto option = std::find_if(arguments.begin(), arguments.end(), is_option);
  return unknown_option_message(*parsed, option == arguments.end() ? arguments.front() : *option);
}

}  // namespace cg2d
