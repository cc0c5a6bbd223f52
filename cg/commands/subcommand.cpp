// A subcommand's options; the table of subcommands; and the way from arguments to an action and its exit code.

#include "cg/commands/subcommand.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <deque>
#include <exception>
#include <new>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

/// A file of options may say that a flag is not.
bool is_given(const CLI::Option& option) {
  const bool is_flag = option.get_items_expected_max() == 0;
  return option.count() > 0 && (!is_flag || option.as<bool>());
}

}  // namespace

// ---------------------------------------------------------------- options

OptionForm::OptionForm(const std::string& text)
    : names(text.substr(0, text.find(' '))), kind(text.substr(std::min(text.size(), names.size() + 1))) {
  const auto all = split_at(names, ',');
  const auto found = std::ranges::find_if(all, [](const auto& each) { return each.starts_with("--"); });
  name = found == all.end() ? names : *found;
}

void Subcommand::describe(const std::string& description, std::initializer_list<std::string_view> examples) {
  parser_.description(description);
  parser_.footer(fmt::format("Examples:\n  {}", fmt::join(examples, "\n  ")));
}

void Subcommand::begin_group(const std::string& title) { parser_.option_defaults()->group(title); }

void Subcommand::add_texts(const std::string& form, const std::string& help,
                           std::function<void(const Texts&)> take, const OptionTraits& traits) {
  const OptionForm parts(form);
  const bool is_argument = !form.starts_with('-');
  const bool is_flag = !is_argument && parts.kind.empty();
  auto* const option = is_flag ? parser_.add_flag_callback(
                                     parts.names, [] {}, help)
                               : parser_.add_option(parts.names, CLI::callback_t{}, help);
  declared_.push_back({.form = parts, .traits = traits, .option = option, .take = std::move(take)});
  if (is_flag) return;
  option->type_name(parts.kind)->default_str(traits.standing)->required(traits.is_required);
  if (traits.is_list) option->expected(CLI::detail::expected_max_vector_size);
  if (traits.is_list && !is_argument && !traits.is_repeated) option->delimiter(',');
  if (traits.is_repeated) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (!traits.file) return;
  option->check([](const std::string& text) {
    return std::string(text.empty() ? "the name of the file is empty" : "");
  });
}

void Subcommand::require_with(const std::string& option, const std::string& other) {
  parser_.get_option(option)->needs(parser_.get_option(other));
}

void Subcommand::exclude(const std::string& option, const std::string& other) {
  parser_.get_option(option)->excludes(parser_.get_option(other));
}

void Subcommand::exclude_others(const std::string& option, const std::vector<std::string>& allowed) {
  auto* const asking = parser_.get_option(option);
  for (const auto& other : declared_) {
    const auto has_name = [&](const std::string& name) { return other.option->check_name(name); };
    if (other.option != asking && std::ranges::none_of(allowed, has_name)) asking->excludes(other.option);
  }
}

void Subcommand::convert() const {
  for (const auto& declared : declared_) {
    if (declared.take && is_given(*declared.option)) declared.take(declared.option->results());
  }
  check();
}

bool Subcommand::has(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  return found != nullptr && is_given(*found);
}

Subcommand::Texts Subcommand::texts_of(std::string_view option) const {
  const auto* const found = parser_.get_option_no_throw(std::string(option));
  return found == nullptr ? Texts{} : found->results();
}

std::string Subcommand::text_of(std::string_view option) const {
  const auto texts = texts_of(option);
  return texts.empty() ? std::string() : texts.front();
}

void Subcommand::refuse(const std::vector<std::string_view>& options, std::string_view reason) const {
  for (const auto option : options) {
    if (has(option)) throw InputError("{}: {}", option, reason);
  }
}

std::vector<FileOption> Subcommand::named_files() const {
  std::vector<FileOption> files;
  for (const auto& [form, traits, option, take] : declared_) {
    auto texts = option->results();
    if (texts.empty() && traits.uses_default_file) texts.push_back(traits.standing);
    for (const auto& text : texts) {
      constexpr std::string_view prefix = "file:";
      if (text.starts_with(prefix) && form.kind.find("file:FILE") != std::string::npos)
        files.push_back({form.name, text.substr(prefix.size()), FileUse::reads});
      if (!traits.file) continue;
      for (const auto& path : form.kind.ends_with(",...") ? split_at(text, ',') : Texts{text})
        files.push_back({form.name, path, *traits.file});
    }
  }
  return files;
}

// ---------------------------------------------------------------- the table

/// Each declares the options of a command, their check, and its work.
using Declaration = void(Subcommand& command);
Declaration declare_run, declare_solve, declare_convert, declare_tune, declare_check, declare_pingpong,
    declare_stencil, declare_sweep, declare_scaling, declare_compare, declare_export, declare_report,
    declare_events, declare_model, declare_simulate, declare_explain, declare_batch, declare_schema,
    declare_help, declare_version, declare_completion;

std::span<const SubcommandRow> subcommand_table() {
  static constexpr auto table =
      std::to_array<SubcommandRow>({{"run", declare_run, CommandKind::task},
                                    {"solve", declare_solve, CommandKind::task},
                                    {"convert", declare_convert},
                                    {"tune", declare_tune},
                                    {"check", declare_check, CommandKind::task},
                                    {"pingpong", declare_pingpong},
                                    {"stencil", declare_stencil, CommandKind::task},
                                    {"sweep", declare_sweep},
                                    {"scaling", declare_scaling},
                                    {"compare", declare_compare},
                                    {"export", declare_export},
                                    {"report", declare_report},
                                    {"events", declare_events},
                                    {"model", declare_model},
                                    {"simulate", declare_simulate},
                                    {"explain", declare_explain},
                                    {"batch", declare_batch},
                                    {"schema", declare_schema, CommandKind::text},
                                    {"help", declare_help, CommandKind::text},
                                    {"version", declare_version, CommandKind::text},
                                    {"completion", declare_completion, CommandKind::text}});
  return table;
}

// ---------------------------------------------------------------- from arguments to an action

namespace {

/// The parser, with all subcommands in the order of their table.
struct Program {
  CLI::App app{"the NAS CG benchmark on any Px x Py grid of ranks", "cg2d"};
  std::deque<Subcommand> commands{};
};

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
    auto* const parser = app.add_subcommand(std::string(row.name));
    parser->group("Commands");
    auto& command = program->commands.emplace_back(*parser);
    row.declare(command);
    command.begin_group("General");
    if (row.kind != CommandKind::text) {
      command.add_texts("--config FILE", "options from FILE (TOML); those of the command line override them",
                        {}, {.file = FileUse::reads});
      command.add_texts("--save-config FILE", "also write the options given to FILE, for --config", {},
                        {.file = FileUse::updates});
      for (const auto* const name : {"--config", "--save-config"})
        parser->get_option(name)->configurable(false);
    }
    parser->set_help_flag("-h,--help", "print this help and exit");  // anew, so that it is the last one
  }
  return program;
}

/// "--config FILE" or "--config=FILE" after the command: read before CLI11 parses, which takes one file for all.
std::string config_path_in(const std::vector<std::string>& arguments) {
  constexpr std::string_view option = "--config";
  for (size_t k = 1; k < arguments.size(); ++k) {
    if (arguments[k] == option && k + 1 < arguments.size()) return arguments[k + 1];
    if (arguments[k].starts_with("--config=")) return arguments[k].substr(option.size() + 1);
  }
  return {};
}

/// The arguments with "=on" after each switch (an option with the values off and on) that stands alone: CLI11 takes the next argument for
/// the value. A switch stands alone at the end, before another option, and, where the command takes arguments without a name, before
/// anything but off, on, or a list of both.
std::vector<std::string> with_switches_on(std::vector<std::string> arguments, const CLI::App& command) {
  const auto is_nameless = [](const CLI::Option* option) { return option->get_positional(); };
  const bool takes_nameless = !command.get_options(is_nameless).empty();
  const auto is_value = [&](const std::string& text) {
    const auto is_word = [](const auto& part) { return part == "off" || part == "on"; };
    return std::ranges::all_of(split_at(text, ','), is_word) || (!takes_nameless && !text.starts_with('-'));
  };
  for (size_t k = 0; k < arguments.size() && arguments[k] != "--"; ++k) {
    const auto* const option = command.get_option_no_throw(arguments[k]);
    const bool has_value = k + 1 < arguments.size() && is_value(arguments[k + 1]);
    if (option != nullptr && option->get_type_name() == "off|on" && !has_value) arguments[k] += "=on";
  }
  return arguments;
}

/// The files that the command line names, and the user's own, which most commands read without being told to.
std::vector<FileOption> all_files(const Subcommand& command) {
  auto files = command.named_files();
  const auto file_of = [&](std::string_view option) {
    return std::ranges::find(files, option, &FileOption::option);
  };
  if (command.has("--show")) {
    const auto output = file_of("--output");
    if (command.has("--output"))
      output->use = FileUse::writes;  // of tables: nothing is measured and added to a file
    else
      files.erase(output);
  }
  const auto add_own = [&](std::string_view option, const std::string& name,
                           const std::optional<std::string>& path) {
    if (path && file_of(option) == files.end()) files.push_back({name, *path, FileUse::reads});
  };
  add_own("--profile", "the user's tuning profile", default_profile_path());
  add_own("--machine", "the user's machine description", default_machine_path());
  return files;
}

/// Where another option names standard output, the report that would go there, too, is not written. A plan is: it has no
/// other results.
void leave_out_report(const Subcommand& command, const std::vector<FileOption>& files) {
  auto* const output = command.parser().get_option_no_throw("--output");
  if (output == nullptr || output->count() > 0 || command.has("--dry-run")) return;
  const auto takes_standard_output = [](const FileOption& file) {
    return file.path == standard_output_name &&
           (file.use == FileUse::writes || file.use == FileUse::writes_last);
  };
  if (std::ranges::any_of(files, takes_standard_output)) output->add_result("/dev/null");
}

}  // namespace

std::string version_text() { return fmt::format("cg2d {}", build_info::version); }

ParsedCommand parse_command_line(const std::vector<std::string>& arguments,
                                 const std::optional<std::string>& config) {
  const auto program = make_program();
  auto& app = program->app;
  const auto parser = [&]() -> const CLI::App* {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? nullptr : parsed.front();
  };
  try {
    std::vector<std::string> texts(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
    if (const auto* const named = texts.empty() ? nullptr : find_command(app, texts.front())) {
      if (const auto path = config_path_in(arguments); !path.empty())
        set_config_file(app, *named, path, config);
      texts = with_switches_on(std::move(texts), *named);
    }
    std::ranges::reverse(texts);  // as CLI11 takes them: the last argument first
    app.parse(std::move(texts));
  } catch (const CLI::CallForHelp&) {
    return {.action = printing([text = help_text(parser() != nullptr ? *parser() : app)] { return text; })};
  } catch (const CLI::CallForVersion&) {
    return {.action = printing([] { return version_text() + "\n"; })};
  } catch (const CLI::ParseError& error) {
    // An option that is not there may be the reason why another argument is missing or wrong.
    if (const auto message = unexpected_argument_message(app, parser()); !message.empty())
      throw InputError(message);
    throw InputError("{} (see cg2d {} --help)", split_at(error.what(), '\n').front(),
                     parser() != nullptr ? parser()->get_name() : "run");
  }
  if (parser() == nullptr) return {.action = printing([text = help_text(app)] { return text; })};
  const auto named = std::ranges::find_if(program->commands,
                                          [&](const auto& command) { return &command.parser() == parser(); });
  const std::shared_ptr<const Subcommand> command(program, &*named);
  ParsedCommand parsed{.action = {},
                       .row = row_named(subcommand_table(), parser()->get_name()),
                       .options = command,
                       .files = all_files(*command),
                       .saved_path = command->text_of("--save-config")};
  if (!parsed.saved_path.empty()) parsed.saved_config = config_text(*parser());
  leave_out_report(*command, parsed.files);
  command->convert();
  parsed.action = command->work;  // now: a check may have replaced it
  return parsed;
}

// ---------------------------------------------------------------- from arguments to an exit code

namespace {

/// Ends every rank when this one cannot go on and the others do not know: the only way out without a hang.
[[noreturn]] void abort_all(ExitCode code, const std::string& text) {
  say_last_on_stderr(text);
  std::fflush(nullptr);
  end_all_ranks(code);
}

/// The text of the file of --config; nothing where there is no such option, or no such file.
std::optional<std::string> config_file_text(const std::vector<std::string>& arguments) {
  try {
    return text_of_file(config_path_in(arguments));
  } catch (const InputError&) {
    return {};  // set_config_file() says why, once the ranks agree
  }
}

/// Standard output may be one of the files, where a shell has redirected it and the result does not go elsewhere.
std::vector<FileOption> with_standard_output(std::vector<FileOption> files) {
  const auto output = std::ranges::find(files, "--output", &FileOption::option);
  if (output == files.end() || output->use == FileUse::updates)
    files.push_back({"standard output", "/dev/stdout"});
  return files;
}

/// Throws InputError where the texts of the ranks differ. Collective.
void require_same(const std::string& text, const std::string& complaint, comm::RankGroup& group) {
  const auto hash = static_cast<int64_t>(std::hash<std::string>{}(text) >> 1);
  if (group.minimum(hash) != group.maximum(hash)) throw InputError(complaint);
}

}  // namespace

ExitCode do_command_line(const std::vector<std::string>& arguments, comm::RankGroup& group) {
  record_command_line(arguments);
  try {
    // Ranks may be started with different arguments (mpiexec's colon syntax), or find different files under one name:
    // they would wait for each other for ever.
    const auto given = std::span(arguments).subspan(std::min<size_t>(1, arguments.size()));
    require_same(fmt::format("{}", fmt::join(given, "\n")),
                 "the ranks were started with different arguments; start all with the same", group);
    const auto config = config_file_text(arguments);  // read once: a pipe is empty then
    require_same(config.value_or(""),
                 "--config: the ranks find different files under its name; put the same file on every node",
                 group);
    ParsedCommand parsed;
    // A file of --config may be unreadable on one rank only, a processor of another kind than the others.
    agree_on(group, [&] {
      require_instruction_set();
      parsed = parse_command_line(arguments, config);
      require_files_on_disk(parsed.files);
      if (group.rank() == 0) require_different_files(with_standard_output(parsed.files));
    });
    parsed.options.reset();  // the parser is large
    if (!parsed.saved_path.empty())
      write_output(parsed.saved_path, group, [&] { return parsed.saved_config; });
    return parsed.action(group);
  } catch (const RunError& error) {  // thrown on every rank alike
    if (group.rank() == 0) say_on_stderr(error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    abort_all(ExitCode::memory,
              fmt::format("out of memory on rank {}; take a smaller matrix or more nodes", group.rank()));
  } catch (const std::exception& error) {
    abort_all(ExitCode::internal, fmt::format("defect of cg2d on rank {}: {}", group.rank(), error.what()));
  }
}

}  // namespace cg2d
