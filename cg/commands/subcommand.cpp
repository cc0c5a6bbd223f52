#include "cg/commands/subcommand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

#include "cg/base/output_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/report/build_info.hpp"

namespace cg2d {
namespace {

/// The first line of an error text: users get one line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Quoted in an error message, a line break would make two lines of it.
void refuse_line_breaks(int argument_count, const char* const* arguments) {
  for (int k = 1; k < argument_count; ++k) {
    if (std::string_view(arguments[k]).find_first_of("\r\n") == std::string_view::npos) continue;
    throw InputError(fmt::format("argument {} contains a line break; arguments must be one line each", k));
  }
}

/// The message about unknown arguments; it names the first of them.
std::string text_of_unexpected(const CLI::App& app, const CLI::App* parsed) {
  const auto arguments = app.remaining(true);
  const std::string first = arguments.empty() ? "argument" : arguments.front();
  if (parsed != nullptr)
    return fmt::format("{0}: not an option of cg2d {1} (see cg2d {1} --help)", first, parsed->get_name());
  return fmt::format("{}: unknown; valid: {}, --help, --version (as in: cg2d run --help)", first,
                     fmt::join(names_of(subcommand_table()), ", "));
}

/// The help of an option for a list says what an empty one stands for.
void leave_out_empty_lists(CLI::App& parser) {
  for (auto* option : parser.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_default_str() == "[]") option->default_str("");
  }
}

/// A row with its parser.
struct Candidate {
  CLI::App* parser;
  std::function<Action()> action;
};

}  // namespace

// Rows, each defined in its own file.
SubcommandRow run_subcommand();
SubcommandRow solve_subcommand();
SubcommandRow convert_subcommand();
SubcommandRow tune_subcommand();
SubcommandRow sweep_subcommand();
SubcommandRow scaling_subcommand();
SubcommandRow model_subcommand();
SubcommandRow explain_subcommand();
SubcommandRow pingpong_subcommand();
SubcommandRow events_subcommand();
SubcommandRow compare_subcommand();
SubcommandRow export_subcommand();

std::span<const SubcommandRow> subcommand_table() {
  static const std::array table{run_subcommand(),      solve_subcommand(),   convert_subcommand(),
                                tune_subcommand(),     sweep_subcommand(),   compare_subcommand(),
                                export_subcommand(),   model_subcommand(),   explain_subcommand(),
                                pingpong_subcommand(), scaling_subcommand(), events_subcommand()};
  return table;
}

Action print_text(std::string text) {
  return print_made_text([text = std::move(text)] { return text; });
}

Action print_made_text(std::function<std::string()> make) {
  return [make = std::move(make)](comm::RankGroup& group) {
    write_output(open_output("", group).get(), group, make);
    return ExitCode::success;
  };
}

Action parse_command_line(int argument_count, const char* const* arguments) {
  refuse_line_breaks(argument_count, arguments);
  std::vector<Candidate> candidates;
  CLI::App app("cg2d: the NAS CG benchmark on any Px x Py grid of ranks", "cg2d");
  app.set_version_flag("--version", fmt::format("cg2d {}", build_info::version));
  app.require_subcommand(0, 1);
  candidates.reserve(subcommand_table().size());
  for (const auto& row : subcommand_table()) {
    auto* const parser = app.add_subcommand(std::string(row.name), std::string(row.description));
    parser->option_defaults()->always_capture_default();  // --help shows the defaults
    candidates.push_back({.parser = parser, .action = row.declare(*parser)});
    leave_out_empty_lists(*parser);
  }
  const auto parsed = [&]() -> const Candidate* {
    for (const auto& candidate : candidates) {
      if (candidate.parser->parsed()) return &candidate;
    }
    return nullptr;
  };
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    return print_text(parsed() != nullptr ? parsed()->parser->help("cg2d") : app.help());
  } catch (const CLI::CallForVersion&) {
    return print_text(fmt::format("cg2d {}\n", build_info::version));
  } catch (const CLI::ExtrasError&) {
    throw InputError(text_of_unexpected(app, parsed() != nullptr ? parsed()->parser : nullptr));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{} (see cg2d {} --help)", first_line(error.what()),
                                 parsed() != nullptr ? parsed()->parser->get_name() : "run"));
  }
  return parsed() != nullptr ? parsed()->action() : print_text(app.help());
}

}  // namespace cg2d
