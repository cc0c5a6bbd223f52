#pragma once

// A subcommand of the program: its options, each declared once, from which parser, help, manual page, completion and file of options follow;
// the check of them together; and its work.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/help_texts.hpp"
#include "comm/rank_group.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cg2d {

/// The work that a command line asks for: collective, the same exit code on every rank. Throws RunError
/// (on every rank alike), MpiError, std::bad_alloc.
using Action = std::function<ExitCode(comm::RankGroup& group)>;

/// Work that is a text, which rank 0 makes: to a file, or to standard output where that has no name.
template <typename Make>
ExitCode print_text(const std::string& output, comm::RankGroup& group, const Make& make) {
  write_output(output, group, make);
  return ExitCode::success;
}

/// Work that prints the text which make() makes on rank 0.
inline Action printing(std::function<std::string()> make) {
  return [make = std::move(make)](comm::RankGroup& group) { return print_text({}, group, make); };
}

/// For OptionTraits::most.
inline constexpr int any_count = std::numeric_limits<int>::max();

/// Properties that only some options have.
struct OptionTraits {
  std::string standing{};          ///< the help's default; empty: the value of the variable
  std::optional<FileUse> file{};   ///< it names a file, or folders
  bool uses_default_file = false;  ///< its default is a file that is used where it is not given
  bool is_required = false;
  bool is_list = false;       ///< of values with commas between; add() sets it
  bool is_repeated = false;   ///< a value each time that it is given
  bool is_from_zero = false;  ///< a number is not negative
  int most = 0;               ///< a whole number from 1, or from 0, to this; 0: any
  double below = std::numeric_limits<double>::infinity();  ///< which numbers do not reach
};

/// An option, or an argument without a name, as its help begins: "--grid auto|PXxPY", "-o,--output FILE", "FILE".
struct OptionForm {
  explicit OptionForm(const std::string& text);

  std::string names;
  std::string kind;  ///< of its value; with names only (one_of()) a text must be one of them
  std::string name;  ///< the first one with two dashes, as messages have it; that of an argument as it is
};

/// A whole or finite decimal number. CLI11's own conversion does not say why it fails, takes an empty text
/// for a missing option, and reads 010 as 8. Throws InputError.
template <typename Number>
Number decimal_from(const std::string& option, const std::string& text) {
  const auto value = number_from<Number>(text);
  if constexpr (std::is_integral_v<Number>) {
    if (!value)
      throw InputError("{}: \"{}\" is not a whole number up to {}", option, text,
                       std::numeric_limits<Number>::max());
  } else {
    if (!value || !std::isfinite(*value)) throw InputError("{}: \"{}\" is not a finite number", option, text);
  }
  return *value;
}

/// Declares options, and converts their texts after parsing.
class Subcommand {
 public:
  using Texts = std::vector<std::string>;

  explicit Subcommand(CLI::App& parser) : parser_(parser) {}
  ~Subcommand() = default;
  Subcommand(const Subcommand&) = delete;
  Subcommand& operator=(const Subcommand&) = delete;

  /// Its work is work_on(options, group), of the options that this returns. They live as long as the work.
  template <typename Options, typename Work>
  Options& with(const Work& work_on) {
    const auto options = std::make_shared<Options>();
    work = [options, work_on](comm::RankGroup& group) { return work_on(*options, group); };
    return *options;
  }

  /// The first line of its help, and at the end of it command lines that run as they stand.
  void describe(const std::string& description, std::initializer_list<std::string_view> examples);
  /// The title in the help of the options that follow.
  void begin_group(const std::string& title);

  /// An option whose value is a text, a number, or, for a vector, some of them with commas between; without a value for a bool, which
  /// becomes the other one than now. form: OptionForm.
  template <typename Value>
  void add(const std::string& form, const std::string& help, Value& value, const OptionTraits& traits = {}) {
    if constexpr (std::is_same_v<Value, bool>) {
      add_texts(form, help, [&value, given = !value](const Texts& /*texts*/) { value = given; });
    } else {
      const auto conversion = [kind = OptionForm(form).kind, traits](const std::string& option,
                                                                     const std::string& text) {
        return value_of<Value>(option, text, kind, traits);
      };
      add(form, help, value, conversion, traits);
    }
  }
  /// The same with conversion(option, text) or conversion(text), which throws InputError. Where it makes one entry of the value, which is a
  /// vector, the option takes several.
  template <typename Value, typename Convert>
  void add(const std::string& form, const std::string& help, Value& value, Convert conversion,
           OptionTraits traits = {}) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      if (traits.standing.empty()) traits.standing = fmt::format("{}", value);
    }
    const auto convert = [conversion, option = OptionForm(form).name](const std::string& text) {
      if constexpr (std::is_invocable_v<Convert, std::string, std::string>) {
        return conversion(option, text);
      } else {
        return conversion(text);
      }
    };
    constexpr bool is_list = !std::is_assignable_v<Value&, decltype(convert(std::string()))>;
    traits.is_list = is_list;
    const auto take = [&value, convert](const Texts& texts) {
      if constexpr (is_list) {
        value.clear();
        for (const auto& text : texts) value.push_back(convert(text));
      } else {
        value = convert(texts.front());
      }
    };
    add_texts(form, help, take, traits);
  }
  /// `take` gets the texts where the option is given. A form without a kind of value is a flag.
  void add_texts(const std::string& form, const std::string& help,
                 std::function<void(const Texts&)> take = {}, const OptionTraits& traits = {});

  /// The option goes only with the other one.
  void require_with(const std::string& option, const std::string& other);
  void exclude(const std::string& option, const std::string& other);
  /// For an option that asks for something else than the command's work: it excludes all others but these. To be called after
  /// all have been added.
  void exclude_others(const std::string& option, const std::vector<std::string>& allowed = {});

  /// Converts what was given, in the order of declaration, and checks it. Throws InputError.
  void convert() const;

  /// After parsing: whether an option was given.
  bool has(std::string_view option) const;
  /// Its texts, as they were given.
  Texts texts_of(std::string_view option) const;
  /// The first of them; empty without one.
  std::string text_of(std::string_view option) const;
  /// Throws InputError for the first of these that was given: its name, and the reason.
  void refuse(const std::vector<std::string_view>& options, std::string_view reason) const;
  /// The files that the arguments name, in the order of declaration; of a list of folders ("DIR,...") each is one. A word among the
  /// values ("ones", "random:1") counts as a file of that name.
  std::vector<FileOption> named_files() const;

  CLI::App& parser() const { return parser_; }

  std::function<void()> check = [] {};  ///< of the options together; may complete them; throws InputError
  Action work;

 private:
  struct Declared {
    OptionForm form;
    OptionTraits traits;
    CLI::Option* option;
    std::function<void(const Texts&)> take;
  };

  template <typename Value>
  static auto value_of(const std::string& option, const std::string& text, const std::string& kind,
                       const OptionTraits& traits) {
    if constexpr (std::is_same_v<Value, std::string>) {
      if (const auto names = names_among(kind); !names.empty()) require_known(option, text, names);
      return text;
    } else if constexpr (requires { typename Value::value_type; }) {
      return value_of<typename Value::value_type>(option, text, kind, traits);
    } else {
      const auto number = decimal_from<Value>(option, text);
      if constexpr (std::is_same_v<Value, int>) {
        if (traits.most > 0) require_within(option, number, traits.most, traits.is_from_zero ? 0 : 1);
      }
      if (traits.is_from_zero && number < Value{})
        throw InputError("{} {}: must not be negative", option, number);
      if (static_cast<double>(number) >= traits.below)
        throw InputError("{} {}: must be less than {}", option, number, traits.below);
      return number;
    }
  }

  CLI::App& parser_;
  std::vector<Declared> declared_;
};

enum class CommandKind {
  usual,
  task,  ///< may be a task of a batch
  text,  ///< about the program: --config and --save-config make no sense
};
/// A row of the table of subcommands.
struct SubcommandRow {
  std::string_view name;
  void (*declare)(Subcommand& command);  ///< its description, options, check and work
  CommandKind kind = CommandKind::usual;
};
std::span<const SubcommandRow> subcommand_table();

/// "cg2d 0.1.0".
std::string version_text();

/// A command line: what it asks for, and what it says.
struct ParsedCommand {
  Action action{};                              ///< prints the help or the version where no command is named
  const SubcommandRow* row = nullptr;           ///< of the named command
  std::shared_ptr<const Subcommand> options{};  ///< of that command
  std::vector<FileOption> files{};              ///< that it reads and writes
  std::string saved_path{};                     ///< of --save-config
  std::string saved_config{};                   ///< the text for that
};
/// arguments: the program's name first. config: the text of the file of --config, where it has been read. Nothing is done, and no file looked
/// at but that one. Throws InputError.
ParsedCommand parse_command_line(const std::vector<std::string>& arguments,
                                 const std::optional<std::string>& config = {});

/// Does what the arguments ask for, between the start and the end of MPI, as often as a caller likes. Returns the exit code. Results
/// go to the files that they name and to standard output; an error is one line on stderr, from rank 0. Nothing of one command is left
/// to the next but memory and threads that are used again. Collective over the group; the ranks may have different arguments, which is
/// refused. A failure that the ranks cannot agree on (no memory, a defect) ends all of them by MPI_Abort.
ExitCode do_command_line(const std::vector<std::string>& arguments, comm::RankGroup& group);

}  // namespace cg2d
