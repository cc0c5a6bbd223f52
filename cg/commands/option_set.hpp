#pragma once

// The options of one command. A row describes each once: parser, help, manual page, completion and file of options follow from it.

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/named_files.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/help/described_option.hpp"

namespace cg2d {

/// For OptionTraits::most.
inline constexpr int any_count = std::numeric_limits<int>::max();

/// Properties that only some options have.
struct OptionTraits {
  std::optional<FileUse> file{};   ///< it names a file, or folders
  bool uses_default_file = false;  ///< its default is a file that is used where it is not given
  bool is_required = false;
  bool is_repeated = false;  ///< a value each time that it is given
  int most = 0;              ///< a whole number from 1 to this; 0: any
};

/// One option, or an argument without a name: {"--px", "N", "columns of the grid; the rows follow", "those of --grid"}.
struct OptionRow {
  std::string name;  ///< "--grid"; "-o,--output"; "FILE" for an argument without a name
  std::string
      value;  ///< kind of its value: "N", "TIME", "auto|PXxPY"; with names only (one_of()) a text must be one of them
  std::string help;
  std::string standing{};  ///< the help's default; empty: the value of the variable
  OptionTraits traits{};   ///< as the OptionSet has been given them
};

/// The first name with two dashes, as messages have it; that of an argument as it is.
std::string long_name_of(const OptionRow& row);

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

/// Declares options, and converts their texts after parsing. What it refers to must outlive it.
class OptionSet {
 public:
  using Texts = std::vector<std::string>;

  explicit OptionSet(CLI::App& parser) : parser_(parser) {}
  ~OptionSet() = default;
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// The title in the help of the options that follow.
  void begin_group(const std::string& title);

  /// An option without a value: `take` is called where it is given.
  void add_flag(const std::string& name, const std::string& help, std::function<void()> take);
  void add_flag(const std::string& name, const std::string& help, bool& value) {
    add_flag(name, help, [&value] { value = true; });
  }
  /// A text or a number.
  template <typename Value>
  void add(OptionRow row, Value& value, const OptionTraits& traits = {}) {
    if constexpr (fmt::is_formattable<Value>::value) {
      if (row.standing.empty()) row.standing = fmt::format("{}", value);
    }
    row.traits = traits;
    add(
        row, value, [row](const std::string& text) { return value_of<Value>(row, text); }, traits);
  }
  /// A text for conversion(option, text) or conversion(text), which throws InputError.
  template <typename Value, typename Convert>
  void add(const OptionRow& row, Value& value, Convert conversion, const OptionTraits& traits = {}) {
    const auto take = [row, &value, conversion](const Texts& texts) {
      value = converted(conversion, row, texts.front());
    };
    add_texts(row, false, take, traits);
  }
  /// Values with commas between them.
  template <typename Value>
  void add_list(OptionRow row, std::vector<Value>& values, const OptionTraits& traits = {}) {
    row.traits = traits;
    add_list(
        row, values, [row](const std::string& text) { return value_of<Value>(row, text); }, traits);
  }
  template <typename Value, typename Convert>
  void add_list(const OptionRow& row, std::vector<Value>& values, Convert conversion,
                const OptionTraits& traits = {}) {
    const auto take = [row, &values, conversion](const Texts& texts) {
      values.clear();
      for (const auto& text : texts) values.push_back(converted(conversion, row, text));
    };
    add_texts(row, true, take, traits);
  }
  /// The core of all: `take` gets the texts where there are any.
  void add_texts(OptionRow row, bool is_list, std::function<void(const Texts&)> take,
                 const OptionTraits& traits = {});

  /// The option goes only with the other one.
  void require_with(const std::string& option, const std::string& other);
  void exclude(const std::string& option, const std::string& other);
  /// For an option that asks for something else than the command's work: it excludes all others but these. To be called after
  /// all have been added.
  void exclude_others(const std::string& option, const std::vector<std::string>& allowed = {});

  /// Converts what was given, in the order of declaration. Throws InputError.
  void convert() const;

  /// After parsing: whether an option was given.
  [[nodiscard]] bool has(std::string_view option) const;
  /// Its texts, as they were given.
  [[nodiscard]] Texts texts_of(std::string_view option) const;
  /// Those of all options that were given, by their long names.
  [[nodiscard]] std::map<std::string, Texts, std::less<>> all_texts() const;
  /// The first of them; empty without one.
  [[nodiscard]] std::string text_of(std::string_view option) const;
  /// Throws InputError for the first of these that was given: its name, and the reason.
  void refuse(const std::vector<std::string_view>& options, std::string_view reason) const;
  /// The files that the arguments name, in the order of declaration. A value that stands for no file ("ones", "random:1") is
  /// left out; of a list of folders ("DIR,...") each is one.
  [[nodiscard]] std::vector<FileOption> named_files() const;

  [[nodiscard]] CLI::App& parser() const { return parser_; }

 private:
  struct Declared {
    OptionRow row;
    CLI::Option* option;
    std::function<void(const Texts&)> take;
  };

  [[nodiscard]] static Texts file_texts(const Declared& declared);

  template <typename Convert>
  static auto converted(const Convert& conversion, const OptionRow& row, const std::string& text) {
    if constexpr (std::is_invocable_v<Convert, std::string, std::string>) {
      return conversion(long_name_of(row), text);
    } else {
      return conversion(text);
    }
  }

  template <typename Value>
  static Value value_of(const OptionRow& row, const std::string& text) {
    if constexpr (requires { typename Value::value_type; } && !std::is_same_v<Value, std::string>) {
      return value_of<typename Value::value_type>(row, text);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      if (const auto names = names_among(row.value); !names.empty())
        require_known(long_name_of(row), text, names);
      return text;
    } else {
      const auto number = decimal_from<Value>(long_name_of(row), text);
      if constexpr (std::is_same_v<Value, int>) {
        if (row.traits.most > 0) require_within(long_name_of(row), number, row.traits.most);
      }
      return number;
    }
  }

  CLI::App& parser_;
  std::vector<Declared> declared_;
};

}  // namespace cg2d
