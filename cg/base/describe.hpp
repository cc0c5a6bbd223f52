#pragma once

// One description of a struct, from which its JSON, the reading of it, its schema, and what is shown of it follow. A struct is described
// by a function beside it:
//
//   void describe(Members& m, RowLengths& lengths) {
//     m("minimum", lengths.shortest, at_least(0, "Nonzeros of the shortest row."));
//     m("mean", lengths.mean, at_least(0));
//   }
//
// This header has no more of JSON than its name: see describe_json.hpp.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/base/values.hpp"

namespace cg2d {

using Json = nlohmann::ordered_json;

/// The meaning of a member, and where it is shown beside JSON. Texts outlive the program.
struct Note {
  std::string_view meaning{};      ///< what the name and the unit do not say
  std::string_view label{};        ///< of its line in the text for people; empty: none
  std::string_view unit{};         ///< "s", "B" (bytes), "%" of a share, or any other text
  std::string_view column{};       ///< of CSV; empty: none. Of a list over the ranks the maximum
  std::string_view mean_column{};  ///< of a list over the ranks the mean
  bool is_metric = false;          ///< cg2d compare compares it
  bool is_null = false;            ///< null where there is no value; otherwise it is left out
  double least =
      -std::numeric_limits<double>::infinity();  ///< of numbers; without one NaN may stand for none
  bool is_above = false;                         ///< numbers must exceed `least`
  size_t fewest = 0;                             ///< entries of a list, letters of a text
  bool is_constant = false;                      ///< always the value that is described
  bool is_computable = false;  ///< products and ratios of several such numbers neither overflow nor vanish
};
constexpr Note meaning(std::string_view text) { return {.meaning = text}; }
constexpr Note at_least(double least, std::string_view text = {}) {
  return {.meaning = text, .least = least};
}
constexpr Note positive(std::string_view text = {}) {
  return {.meaning = text, .least = 0.0, .is_above = true};
}
/// A cost of a machine: no machine has others, and no others are read.
constexpr Note cost(double least = 0.0) { return {.least = least, .is_computable = true}; }
constexpr Note positive_cost() { return {.least = 0.0, .is_above = true, .is_computable = true}; }
/// The magnitudes of numbers for which Note::is_computable holds; 0, too.
constexpr double least_magnitude = 1e-30;
constexpr double greatest_magnitude = 1e30;
bool is_computable(double number);
constexpr Note not_empty(std::string_view text = {}) { return {.meaning = text, .fewest = 1}; }
constexpr Note or_null(Note note = {}) {
  note.is_null = true;
  return note;
}
constexpr Note or_null(std::string_view text) { return or_null(meaning(text)); }
constexpr Note in_column(std::string_view name, Note note = {}) {
  note.column = name;
  return note;
}
/// A line of the text.
constexpr Note labelled(std::string_view label, std::string_view unit = {}, std::string_view text = {}) {
  return {.meaning = text, .label = label, .unit = unit, .least = 0.0};
}
constexpr Note labelled(std::string_view label, std::string_view unit, Note note) {
  note.label = label;
  note.unit = unit;
  return note;
}
/// A line of the text, a column of CSV by the member's own name, and a place in comparisons.
constexpr Note metric(std::string_view label, std::string_view unit, std::string_view text = {}) {
  return {.meaning = text, .label = label, .unit = unit, .is_metric = true, .least = 0.0};
}

enum class ExitCode;
/// status_name().
std::span<const NamedValue<ExitCode>> words_of(ExitCode code);

/// Members of any names, in their order.
template <typename T>
using Named = std::vector<std::pair<std::string, T>>;

class Members;
template <typename T>
concept Described = requires(Members& m, T& value) {
  describe(m, value);
};
/// An enumeration whose values have words: std::span<const NamedValue<E>> words_of(E).
template <typename T>
concept Worded = std::is_enum_v<T> && requires(T value) {
  words_of(value).front().name;
};

template <typename T>
concept Optional = requires(T& value) {
  value.has_value();
  value.emplace();
};
/// Named, or a map.
template <typename T>
concept ListOfNamed = requires {
  typename T::value_type::second_type;
};

/// Visits the members of structs, and does one thing with them: writes them to JSON, reads them from it, or specifies them in a JSON Schema.
class Members {
 public:
  enum class Task { write, read, specify };
  /// Begins with the whole value. Reading leaves it as it is.
  Members(Task task, Json& whole) : task_(task), places_{{.json = &whole}} {}

  /// A member of the struct that is being described. Of an optional one without a value nothing is read.
  template <typename T>
  void operator()(std::string_view name, T& value, const Note& note = {}) {
    bool has_value = true;
    if constexpr (Optional<T>) has_value = value.has_value();
    member(name, value, note, Optional<T>, has_value);
  }
  /// A member that may be left out (with or_null(): null), and then stays as it was. is_written: whether it is not. Whether it is there.
  template <typename T>
  bool if_given(std::string_view name, T&& value, bool is_written, const Note& note = {}) {
    return member(name, value, note, true, is_written);
  }
  /// A member that follows from others: written, and read past.
  template <typename Value>
  void derived(std::string_view name, const Value& value, const Note& note = {}) {
    if constexpr (std::convertible_to<const Value&, std::string_view>) {
      std::string text(static_cast<std::string_view>(value));
      (*this)(name, text, note);
    } else {
      auto copy = value;
      (*this)(name, copy, note);
    }
  }
  /// One whose value make() makes, where it is written.
  template <std::invocable Make>
  void derived(std::string_view name, const Note& note, const Make& make) {
    derived(name, writes() ? make() : std::decay_t<std::invoke_result_t<const Make&>>{}, note);
  }
  /// A member that is always the same, such as the version of a format.
  template <typename T>
  void constant(std::string_view name, const T& value, std::string_view text = {}) {
    derived(name, value, {.meaning = text, .is_constant = true});
  }
  /// A member that is one of the words of a table; one that is optional may be missing from a file.
  template <typename Value>
  void one_of(std::string_view name, Value& value, std::span<const NamedValue<Value>> table,
              const Note& note = {}, bool is_optional = false) {
    if (!enter(name, note, is_optional, true)) return;
    visit_word(value, table);
    leave();
  }
  /// A member that is an object, whose members describe_members() names.
  template <std::invocable Describe>
  void object(std::string_view name, const Describe& describe_members) {
    object(name, {}, describe_members);
  }
  template <std::invocable Describe>
  void object(std::string_view name, const Note& note, const Describe& describe_members) {
    if (enter(name, note, false, true)) visit_members(describe_members);
  }
  /// An optional one. Reading sets is_there, where it is a variable.
  template <std::convertible_to<bool> Flag, std::invocable Describe>
  void object_if(Flag&& is_there, std::string_view name, const Note& note, const Describe& describe_members) {
    const bool is_entered = enter(name, note, true, is_there);
    if (is_entered || reads()) is_there = is_entered;
    if (is_entered) visit_members(describe_members);
  }
  /// An optional value, whose members describe_members(value) names. Without it nothing is read.
  template <typename T, std::invocable<T&> Describe>
  void object_if(std::optional<T>& value, std::string_view name, const Note& note,
                 const Describe& describe_members) {
    if (!enter(name, note, true, value.has_value())) return;
    if (!value) value.emplace();
    visit_members([&] { describe_members(*value); });
  }
  /// A list of objects, whose members describe_item(item, index) names.
  template <typename List, typename Describe>
  void list(std::string_view name, List&& items, const Note& note, const Describe& describe_item) {
    if (enter(name, note, false, true)) visit_items(items, describe_item, note);
  }
  /// An optional one, left out where it is empty.
  template <typename List, typename Describe>
  void list_if_any(std::string_view name, List&& items, const Note& note, const Describe& describe_item) {
    if (enter(name, note, true, !items.empty())) visit_items(items, describe_item, note);
  }

  /// Members of one of several ways to say the same, which describe_members() names: no schema demands them.
  template <std::invocable Describe>
  void way(const Describe& describe_members) {
    way_ = here().json;
    describe_members();
    way_ = nullptr;
  }

  /// Reading: adds a problem to those that finish() throws, unless what is read is no object, which is a problem already.
  void complain(const std::string& problem);
  /// Adds a problem, once.
  void add(const std::string& problem);
  /// Throws InputError with all problems.
  void finish() const;
  bool reads() const { return task_ == Task::read; }
  bool writes() const { return task_ == Task::write; }
  /// A member of the struct that is read with its path, in quotes.
  std::string where(std::string_view name) const;
  /// Whether a file that is read has the member, and not as null; known from now on; true otherwise.
  bool has(std::string_view name);

  /// The value itself, whichever it is.
  template <typename T>
  void visit(T& value, const Note& note = {}) {
    if constexpr (Described<T>) {
      begin_object();
      describe(*this, value);
      end_object();
    } else if constexpr (Optional<T>) {
      if (!value) value.emplace();
      visit(*value, note);
    } else if constexpr (std::same_as<T, Json>) {
      any(value);
    } else if constexpr (std::same_as<T, bool>) {
      flag(value, note);
    } else if constexpr (std::integral<T>) {
      auto number = static_cast<int64_t>(value);
      constexpr auto most = std::in_range<int64_t>(std::numeric_limits<T>::max())
                                ? static_cast<int64_t>(std::numeric_limits<T>::max())
                                : std::numeric_limits<int64_t>::max();
      integer(number, static_cast<int64_t>(std::numeric_limits<T>::min()), most, note);
      value = static_cast<T>(number);
    } else if constexpr (std::floating_point<T>) {
      this->number(value, note);
    } else if constexpr (Worded<T>) {
      visit_word(value, words_of(value));
    } else if constexpr (ListOfNamed<T>) {
      using Entry = typename T::value_type;
      for (const auto& name : begin_map())
        value.insert(value.end(), Entry(name, typename Entry::second_type{}));
      for (auto& [name, entry] : value) {
        if (!enter_named(name)) continue;
        visit(entry);
        leave();
      }
    } else if constexpr (requires { value.emplace_back(); }) {
      value.resize(begin_list(value.size(), note));
      for (size_t index = 0; index < value.size(); ++index) item(value[index], index, note);
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      if (begin_list(value.size(), {.fewest = value.size()}) != value.size()) return;
      for (size_t index = 0; index < value.size(); ++index) item(value[index], index, note);
    } else {
      text(value, note);
    }
  }

 private:
  struct Place {
    Json* json;
    std::string_view name{};           ///< of a member that is read
    std::optional<size_t> index{};     ///< of an entry of a list
    std::vector<std::string> known{};  ///< members that were asked for
  };

  /// The innermost value that is being visited.
  [[nodiscard]] Place& here() { return places_.back(); }
  /// Most members need none: it is put together for those that are complained of.
  std::string path() const;
  void refuse(const std::string& needed);
  /// Reading: takes what was found, unless the member is a constant of another value.
  template <typename Value>
  void take(Value& value, const Value& found, const Note& note);
  bool is_within(double value, const Note& note);
  /// Writes or specifies a flag, a number or a text. False: it is to be read.
  template <typename Value>
  bool is_written(const Value& value, const char* type, const Note& note);

  /// Whether the member is visited, which ends with leave(). has_value: of an optional one.
  bool enter(std::string_view name, const Note& note, bool is_optional, bool has_value);
  void leave() { places_.pop_back(); }
  void begin_object();
  void end_object();
  /// The names of the members that are read; specifying, one stands for all. Each is visited between enter_named() and leave().
  std::vector<std::string> begin_map();
  bool enter_named(const std::string& name);
  /// The number of the entries that are visited.
  size_t begin_list(size_t size, const Note& note);
  /// Visits an entry, which ends with leave().
  void enter_item(size_t index);
  void flag(bool& value, const Note& note);
  void integer(int64_t& value, int64_t least, int64_t most, const Note& note);
  void number(double& value, const Note& note);
  void text(std::string& value, const Note& note);
  /// index: of the word; beyond them for none.
  void word(const std::vector<std::string>& words, size_t& index);
  void any(Json& value);

  template <typename T>
  bool member(std::string_view name, T& value, const Note& note, bool is_optional, bool has_value) {
    if (!enter(name, note, is_optional, has_value)) return false;
    visit(value, note);
    leave();
    return true;
  }
  template <typename Describe>
  void visit_members(const Describe& describe_members) {
    begin_object();
    describe_members();
    end_object();
    leave();
  }
  template <typename List, typename Describe>
  void visit_items(List& items, const Describe& describe_item, const Note& note) {
    items.resize(begin_list(items.size(), note));
    for (size_t index = 0; index < items.size(); ++index) {
      enter_item(index);
      visit_members([&] { describe_item(items[index], index); });
    }
    leave();
  }
  template <typename Value>
  void visit_word(Value& value, std::span<const NamedValue<Value>> table) {
    auto index =
        static_cast<size_t>(std::ranges::find(table, value, &NamedValue<Value>::value) - table.begin());
    word(names_of(table), index);
    if (index < table.size()) value = table[index].value;
  }
  template <typename T>
  void item(T& value, size_t index, Note note) {
    note.fewest = 0;  // which is of the list
    enter_item(index);
    visit(value, note);
    leave();
  }

  Task task_;
  std::vector<Place> places_;  ///< from the whole to what is being visited
  const Json* way_ = nullptr;  ///< whose members no schema demands, for now
  std::vector<std::string> problems_;
  bool has_bad_figure_ = false;  ///< that nothing can be computed with
};

/// Visits one value.
using Visit = std::function<void(Members& members)>;
template <typename Value>
Visit visit_of(const Value& value) {
  // Writing changes nothing; one description serves both directions.
  return [&](Members& members) { members.visit(const_cast<Value&>(value)); };  // NOLINT(*-const-cast)
}
/// A value of the type, for its schema.
template <typename Value>
void visit_new(Members& members) {
  Value value{};
  members.visit(value);
}

/// A text as JSON returns it after writing and reading: bytes that are not UTF-8 are replaced.
std::string text_in_json(const std::string& text);
/// The text of a JSON document; is_line: of one line, without its end.
std::string document_text(const Visit& visit, bool is_line);
/// Whether the text is JSON of such values.
bool is_read(const Visit& visit, std::string_view text);

template <typename Value>
std::string document_text(const Value& value) {
  return document_text(visit_of(value), false);
}
/// Numbers come back with their bits, those that are not finite as NaN.
template <typename Value>
std::string json_line(const Value& value) {
  return document_text(visit_of(value), true);
}
template <typename Value>
std::optional<Value> from_json_line(std::string_view text) {
  std::optional<Value> value(std::in_place);
  if (!is_read(visit_of(*value), text)) value.reset();
  return value;
}

/// JSON Schema of a document that is of one of these types, with the title first.
std::string schema_text(std::string_view title, std::span<void (*const)(Members&)> types);

}  // namespace cg2d
