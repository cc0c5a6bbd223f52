#include "cg/commands/subcommand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/help_texts.hpp"
#include "cg/commands/option_set.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {
namespace {

/// Quoted in an error message, a line break would make two lines of it.
void refuse_line_breaks(const std::vector<std::string>& arguments) {
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    if (arguments[k].find_first_of("\r\n") != std::string::npos)
      throw InputError("argument {} contains a line break; arguments must be one line each", k);
  }
}

/// A row with its options.
struct Command {
  Command(CLI::App& parser, const SubcommandRow& its_row) : row(its_row), options(parser) {}

  const SubcommandRow& row;
  OptionSet options;
  std::function<Action()> action{};
};

/// The parser, with all commands.
struct Program {
  CLI::App app{"the NAS CG benchmark on any Px x Py grid of ranks", "cg2d"};
  std::deque<Command> commands{};
};

}  // namespace

SubcommandRows session_subcommands();
SubcommandRows matrix_subcommands();
SubcommandRows measurement_subcommands();
SubcommandRows study_subcommands();
SubcommandRows result_subcommands();
SubcommandRows model_subcommands();
SubcommandRows batch_subcommands();
SubcommandRows program_subcommands();

const SubcommandRows& subcommand_table() {
  static const auto table = [] {
    SubcommandRows rows;
    for (auto* const some :
         {session_subcommands, matrix_subcommands, measurement_subcommands, study_subcommands,
          result_subcommands, model_subcommands, batch_subcommands, program_subcommands})
      std::ranges::move(some(), std::back_inserter(rows));
    return rows;
  }();
  return table;
}

std::string version_text() { return fmt::format("cg2d {}", build_info::version); }

Action print_text(std::string text) {
  return print_made_text([text = std::move(text)] { return text; });
}

Action print_made_text(std::function<std::string()> make, std::string output) {
  return [make = std::move(make), output = std::move(output)](comm::RankGroup& group) {
    write_output(output, group, make);
    return ExitCode::success;
  };
}

namespace {

void add_config_options(OptionSet& options) {
  options.add_texts("--config FILE", "options from FILE (TOML); those of the command line override them",
                    false, {}, {.file = FileUse::reads});
  options.add_texts("--save-config FILE", "also write the options given to FILE, for --config", false, {},
                    {.file = FileUse::updates});
  for (const auto* const name : {"--config", "--save-config"})
    options.parser().get_option(name)->configurable(false);
}

/// "--config FILE" or "--config=FILE" after the command: read before CLI11 parses, which takes one file for all.
std::string config_path_in(const std::vector<std::string>& arguments) {
  constexpr std::string_view option = "--config";
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    if (arguments[k] == option && k + 1 < arguments.size()) return arguments[k + 1];
    if (arguments[k].starts_with("--config=")) return arguments[k].substr(option.size() + 1);
  }
  return {};
}

/// Lets CLI11 read the file of --config, if there is one, as the options of the command that the first argument names.
void expect_config_file(CLI::App& app, const std::vector<std::string>& arguments) {
  const auto path = config_path_in(arguments);
  const auto* const command = arguments.size() > 1 ? find_command(app, arguments[1]) : nullptr;
  if (!path.empty() && command != nullptr) set_config_file(app, *command, path);
}

/// The arguments with "=on" after each switch (an option with the values off and on) that stands alone: CLI11 takes the next argument for
/// the value. A switch stands alone at the end, before another option, and, where the command takes arguments without a name, before
/// anything but off, on, or a list of both.
std::vector<std::string> with_switches_on(std::vector<std::string> arguments, const CLI::App& command) {
  const auto options = described_options(command);
  const bool takes_nameless = std::ranges::any_of(options, &DescribedOption::is_positional);
  const std::vector<std::string> words{"off", "on"};
  const auto is_switch = [&](const std::string& argument) {
    return std::ranges::any_of(options, [&](const auto& option) {
      return option.values == words && std::ranges::count(option.names, argument) > 0;
    });
  };
  const auto is_value = [&](const std::string& text) {
    const auto is_word = [&](const auto& part) { return std::ranges::count(words, part) > 0; };
    return std::ranges::all_of(split_at(text, ','), is_word) || (!takes_nameless && !text.starts_with('-'));
  };
  for (std::size_t k = 0; k < arguments.size() && arguments[k] != "--"; ++k) {
    const bool has_value = k + 1 < arguments.size() && is_value(arguments[k + 1]);
    if (!has_value && is_switch(arguments[k])) arguments[k] += "=on";
  }
  return arguments;
}

/// As CLI11 takes them: the last argument first, and without the program's name.
void parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> texts(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  const auto* const command = texts.empty() ? nullptr : find_command(app, texts.front());
  if (command != nullptr) texts = with_switches_on(std::move(texts), *command);
  std::ranges::reverse(texts);
  app.parse(std::move(texts));
}

/// The files that the command line names, those that an option makes beside another one, and the user's own, which most
/// commands read without being told to.
std::vector<FileOption> all_files(const OptionSet& options) {
  auto files = options.named_files();
  if (options.has("--show")) {  // then nothing is measured and added to a file
    if (!options.has("--output"))
      std::erase_if(files, [](const auto& file) { return file.option == "--output"; });
    const auto tables = std::ranges::find(files, "--output", &FileOption::option);
    if (tables != files.end()) tables->use = FileUse::writes;
  }
  const auto path_of = [&](std::string_view option) {
    const auto found = std::ranges::find(files, option, &FileOption::option);
    return found == files.end() ? std::string() : found->path;
  };
  if (const auto sweep = path_of("--output"); options.has("--trace-best") && !sweep.empty())
    files.push_back({"--trace-best", trace_file_of(sweep)});
  const auto add_own = [&](std::string_view option, const std::string& name,
                           const std::optional<std::string>& path) {
    if (path && path_of(option).empty()) files.push_back({name, *path, FileUse::reads});
  };
  add_own("--profile", "the user's tuning profile", default_profile_path());
  add_own("--machine", "the user's machine description", default_machine_path());
  return files;
}

/// Where another option names standard output, the report that would go there, too, is not written. A plan is: it has no
/// other results.
void leave_out_report(const OptionSet& options) {
  auto* const output = options.parser().get_option_no_throw("--output");
  if (output == nullptr || output->count() > 0 || options.has("--dry-run")) return;
  const auto takes_standard_output = [](const FileOption& file) {
    return file.path == standard_output_name &&
           (file.use == FileUse::writes || file.use == FileUse::writes_last);
  };
  if (std::ranges::any_of(options.named_files(), takes_standard_output)) output->add_result("/dev/null");
}

/// The action of a command, before which rank 0 looks for files with two uses, and writes the text of the options to a file, if one is
/// named. Standard output may be one of the files, where a shell has redirected it and the result does not go elsewhere.
Action with_checks(Action action, std::vector<FileOption> files, const std::string& saved_path,
                   std::string text) {
  const auto output = std::ranges::find(files, "--output", &FileOption::option);
  if (output == files.end() || output->use == FileUse::updates)
    files.push_back({"standard output", "/dev/stdout"});
  return [action = std::move(action), files = std::move(files), saved_path,
          text = std::move(text)](comm::RankGroup& group) {
    agree_on(group, [&] {
      require_files_on_disk(files);
      if (group.rank() == 0) require_different_files(files);
    });
    if (!saved_path.empty()) write_output(saved_path, group, [&] { return text; });
    return action(group);
  };
}

std::shared_ptr<Program> make_program() {
  auto program = std::make_shared<Program>();
  auto& app = program->app;
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag("--version", version_text(), "print the version and exit");
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n  mpiexec -n 4 cg2d run --class S\n  cg2d help run\n\n"
      "An option without a value is off unless it is given; one with the values off|on, alone, is on.");
  for (const auto& row : subcommand_table()) {
    auto* const parser = app.add_subcommand(std::string(row.name), std::string(row.description));
    parser->group("Commands");
    parser->footer(fmt::format("Examples:\n  {}", fmt::join(row.examples, "\n  ")));
    auto& command = program->commands.emplace_back(*parser, row);
    command.action = row.declare(command.options);
    command.options.begin_group("General");
    if (row.takes_config) add_config_options(command.options);
    parser->set_help_flag("-h,--help", "print this help and exit");  // anew, so that it is the last one
  }
  return program;
}

/// A command line that asks for a text in place of a command's work.
ParsedCommand printing(std::string text) {
  ParsedCommand parsed;
  parsed.action = print_text(std::move(text));
  return parsed;
}

}  // namespace

std::string config_file_text(const std::vector<std::string>& arguments) {
  const auto path = config_path_in(arguments);
  try {
    return text_of_file(path).value_or("");
  } catch (const InputError&) {
    return {};  // set_config_file() says why, once the ranks agree
  }
}

ParsedCommand parse_command_line(const std::vector<std::string>& arguments) {
  refuse_line_breaks(arguments);
  const auto program = make_program();
  auto& app = program->app;
  const auto parser = [&]() -> const CLI::App* {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? nullptr : parsed.front();
  };
  try {
    expect_config_file(app, arguments);
    parse_arguments(app, arguments);
  } catch (const CLI::CallForHelp&) {
    return printing(help_text(parser() != nullptr ? *parser() : app));
  } catch (const CLI::CallForVersion&) {
    return printing(version_text() + "\n");
  } catch (const CLI::ParseError& error) {
    // An option that is not there may be the reason why another argument is missing or wrong.
    if (const auto message = unexpected_argument_message(app, parser()); !message.empty())
      throw InputError(message);
    throw InputError("{} (see cg2d {} --help)", split_at(error.what(), '\n').front(),
                     parser() != nullptr ? parser()->get_name() : "run");
  }
  if (parser() == nullptr) return printing(help_text(app));
  const auto& [row, options, make_action] = *std::ranges::find_if(
      program->commands, [&](const auto& command) { return &command.options.parser() == parser(); });
  const auto saved_path = options.text_of("--save-config");
  auto config = saved_path.empty() ? std::string() : config_text(*parser());
  auto files = all_files(options);
  leave_out_report(options);
  options.convert();
  auto action = with_checks(make_action(), files, saved_path, std::move(config));
  return {.action = std::move(action),
          .row = &row,
          .options = std::shared_ptr<const OptionSet>(program, &options),
          .files = std::move(files)};
}

}  // namespace cg2d
