#include "cg/commands/subcommand.hpp"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <deque>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/build_info.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {
namespace {

/// "ones", and "random:1" where "random:SEED" is a value.
bool stands_for_no_file(const std::string& text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    const auto colon = word.find(':');
    return colon == std::string::npos ? text == word : text.starts_with(word.substr(0, colon + 1));
  });
}

/// A value that names a file which is read.
constexpr std::string_view file_value = "file:FILE";
constexpr std::string_view file_prefix = "file:";

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

void Subcommand::add_texts(const std::string& form, const std::string& help, bool is_list,
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
  if (is_list) option->expected(CLI::detail::expected_max_vector_size);
  if (is_list && !is_argument && !traits.is_repeated) option->delimiter(',');
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
    if (form.kind.find(file_value) != std::string::npos) {
      for (const auto& text : texts) {
        if (text.starts_with(file_prefix))
          files.push_back({form.name, text.substr(file_prefix.size()), FileUse::reads});
      }
    }
    if (!traits.file) continue;
    if (texts.empty() && traits.uses_default_file) texts.push_back(traits.standing);
    const bool has_words = form.kind.find('|') != std::string::npos;
    const auto words = has_words ? split_at(form.kind, '|') : Texts{};
    for (const auto& text : texts) {
      for (auto& path : form.kind.ends_with(",...") ? split_at(text, ',') : Texts{text}) {
        if (!stands_for_no_file(path, words))
          files.push_back({.option = form.name, .path = std::move(path), .use = *traits.file});
      }
    }
  }
  return files;
}

// ---------------------------------------------------------------- command lines

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
                        false, {}, {.file = FileUse::reads});
      command.add_texts("--save-config FILE", "also write the options given to FILE, for --config", false, {},
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
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    if (arguments[k] == option && k + 1 < arguments.size()) return arguments[k + 1];
    if (arguments[k].starts_with("--config=")) return arguments[k].substr(option.size() + 1);
  }
  return {};
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

/// The files that the command line names, those that an option makes beside another one, and the user's own, which most
/// commands read without being told to.
std::vector<FileOption> all_files(const Subcommand& command) {
  auto files = command.named_files();
  const auto file_of = [&](std::string_view option) {
    return std::ranges::find(files, option, &FileOption::option);
  };
  if (command.has("--show")) {  // then nothing is measured and added to a file
    const auto tables = file_of("--output");
    if (command.has("--output")) {
      tables->use = FileUse::writes;
    } else if (tables != files.end()) {
      files.erase(tables);
    }
  }
  if (const auto sweep = file_of("--output"); command.has("--trace-best") && sweep != files.end())
    files.push_back({"--trace-best", trace_file_of(sweep->path)});
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
void leave_out_report(const Subcommand& command) {
  auto* const output = command.parser().get_option_no_throw("--output");
  if (output == nullptr || output->count() > 0 || command.has("--dry-run")) return;
  const auto takes_standard_output = [](const FileOption& file) {
    return file.path == standard_output_name &&
           (file.use == FileUse::writes || file.use == FileUse::writes_last);
  };
  if (std::ranges::any_of(command.named_files(), takes_standard_output)) output->add_result("/dev/null");
}

/// The work of a command, before which rank 0 looks for files with two uses, and writes the text of the options to a file, if one is
/// named. Standard output may be one of the files, where a shell has redirected it and the result does not go elsewhere. It keeps
/// nothing of the parser, which is large.
Action with_checks(const Subcommand& command, std::vector<FileOption> files, std::string config) {
  const auto output = std::ranges::find(files, "--output", &FileOption::option);
  if (output == files.end() || output->use == FileUse::updates)
    files.push_back({"standard output", "/dev/stdout"});
  return [work = command.work, files = std::move(files), saved_path = command.text_of("--save-config"),
          config = std::move(config)](comm::RankGroup& group) {
    agree_on(group, [&] {
      require_files_on_disk(files);
      if (group.rank() == 0) require_different_files(files);
    });
    if (!saved_path.empty()) write_output(saved_path, group, [&] { return config; });
    return work(group);
  };
}

/// A command line that asks for a text in place of a command's work.
ParsedCommand printing(std::string text) {
  ParsedCommand parsed;
  parsed.action = [text = std::move(text)](comm::RankGroup& group) {
    return print_text({}, group, [&] { return text; });
  };
  return parsed;
}

}  // namespace

std::string version_text() { return fmt::format("cg2d {}", build_info::version); }

std::string config_file_text(const std::vector<std::string>& arguments) {
  try {
    return text_of_file(config_path_in(arguments)).value_or("");
  } catch (const InputError&) {
    return {};  // set_config_file() says why, once the ranks agree
  }
}

ParsedCommand parse_command_line(const std::vector<std::string>& arguments) {
  for (std::size_t k = 1; k < arguments.size(); ++k) {
    if (arguments[k].find_first_of("\r\n") !=
        std::string::npos)  // two lines of an error message that quotes it
      throw InputError("argument {} contains a line break; arguments must be one line each", k);
  }
  const auto program = make_program();
  auto& app = program->app;
  const auto parser = [&]() -> const CLI::App* {
    const auto parsed = app.get_subcommands();
    return parsed.empty() ? nullptr : parsed.front();
  };
  try {
    std::vector<std::string> texts(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
    if (const auto* const named = texts.empty() ? nullptr : find_command(app, texts.front())) {
      if (const auto path = config_path_in(arguments); !path.empty()) set_config_file(app, *named, path);
      texts = with_switches_on(std::move(texts), *named);
    }
    std::ranges::reverse(texts);  // as CLI11 takes them: the last argument first
    app.parse(std::move(texts));
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
  const auto named = std::ranges::find_if(program->commands,
                                          [&](const auto& command) { return &command.parser() == parser(); });
  const std::shared_ptr<const Subcommand> command(program, &*named);
  auto config = command->has("--save-config") ? config_text(*parser()) : std::string();
  auto files = all_files(*command);
  leave_out_report(*command);
  command->convert();
  return {.action = with_checks(*command, files, std::move(config)),
          .row = row_named(subcommand_table(), parser()->get_name()),
          .options = command,
          .files = std::move(files)};
}

}  // namespace cg2d
