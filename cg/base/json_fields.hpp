#pragma once

// The members of JSON objects in files that are both read and written: one description serves both, and the schema.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/json_record.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

/// The members of one object. Each call names a key and the variable that holds its value: reading sets the
/// variable, writing adds the member, specifying adds its type to a schema. Reading collects what is wrong, with the path to
/// the key and what it must be, also keys that no call names, and leaves the variable as it was; read() throws all of
/// it. Writing checks nothing.
class JsonFields {
 public:
  /// Calls describe(fields) for the object of a whole file. Throws InputError that has every problem of it.
  template <typename Describe>
  static void read(const Json& json, const Describe& describe) {
    Problems problems;
    JsonFields fields(Use::reads, &json, nullptr, {}, &problems);
    if (json.is_object())
      fields.describe_whole(describe);
    else
      problems.texts.emplace_back("a JSON object is needed");
    if (!problems.texts.empty()) throw InputError(text_of(problems.texts), problems.code);
  }
  /// Adds to the object, which must outlive this and stay where it is.
  static JsonFields writer(Json& json) { return {Use::writes, nullptr, &json, {}, nullptr}; }
  /// The schema of an object that describe(fields) describes; to be completed by document_schema().
  template <typename Describe>
  static FigureType schema(const Describe& describe) {
    Json schema{{"type", "object"},
                {"additionalProperties", false},
                {"required", Json::array()},
                {"allOf", Json::array()},
                {"properties", Json::object()}};
    JsonFields fields(Use::specifies, nullptr, &schema, {}, nullptr);
    describe(fields);
    if (schema["allOf"].empty()) schema.erase("allOf");
    return schema;
  }

  /// Whether products and ratios of several such numbers neither overflow nor vanish. No machine has others, and none are read: bad_data.
  static bool is_computable(double number) {
    const double magnitude = std::abs(number);
    return number == 0.0 || (magnitude >= least_magnitude && magnitude <= greatest_magnitude);
  }

  [[nodiscard]] bool reads() const { return use_ == Use::reads; }
  /// The key with its path in quotes.
  [[nodiscard]] std::string where(const std::string& key) const {
    return path_.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}.{}\"", path_, key);
  }
  /// Reading: adds a problem, once. To be called for what this class does not check.
  void complain(std::string problem) {
    if (reads() && std::ranges::find(problems_->texts, problem) == problems_->texts.end())
      problems_->texts.push_back(std::move(problem));
  }
  /// Whether the file has an optional member. Writing: whether it is to have it. Specifying: true.
  [[nodiscard]] bool has(const std::string& key, bool is_written = true) {
    if (use_ == Use::writes) return is_written;
    (reads() ? known_ : optional_).push_back(key);
    return !reads() || source_->contains(key);
  }
  /// One of two ways to describe the same: is_first says which it is, each is described by a call. A schema has both, and demands one.
  template <typename First, typename Second>
  void either(bool is_first, const First& describe_first, const Second& describe_second) {
    if (use_ != Use::specifies) return is_first ? describe_first() : describe_second();
    Json ways = Json::array();
    const Json demands{{"required", std::exchange((*target_)["required"], Json::array())},
                       {"allOf", std::exchange((*target_)["allOf"], Json::array())}};
    const auto add_way = [&](const auto& describe) {
      describe();
      ways.push_back({{"required", std::exchange((*target_)["required"], Json::array())}});
      if (!(*target_)["allOf"].empty())
        ways.back()["allOf"] = std::exchange((*target_)["allOf"], Json::array());
    };
    add_way(describe_first);
    add_way(describe_second);
    target_->update(demands);
    const auto demands_nothing = [](const Json& way) { return way["required"].empty() && way.size() == 1; };
    if (std::ranges::none_of(ways, demands_nothing)) (*target_)["allOf"].push_back({{"oneOf", ways}});
  }
  /// The number under one of two keys, of which the first is written. Returns the key that the file has; empty after a problem.
  std::string one_of(const std::string& first, const std::string& second, double& value,
                     bool (JsonFields::*read_number)(const std::string&, double&)) {
    bool is_first = true;
    if (reads()) {
      is_first = has(first);
      if (has(second) == is_first) {
        complain(fmt::format("{} or {} is needed, one of the two", where(first), where(second)));
        return {};
      }
    }
    std::string found;
    const auto take = [&](const std::string& key) {
      return [&] { found = (this->*read_number)(key, value) ? key : ""; };
    };
    either(is_first, take(first), take(second));
    return found;
  }

  /// A number that is at least 0. Returns whether the variable holds it now, as those below.
  bool number(const std::string& key, double& value) {
    return put(key, value, seconds_type()) || at_least(key, value, 0.0);
  }
  bool positive(const std::string& key, double& value) {
    if (put(key, value, positive_seconds_type())) return true;
    double number = 0.0;
    if (!at_least(key, number, 0.0)) return false;
    if (number <= 0.0) return refuse(fmt::format("{} must be greater than 0", where(key)));
    value = number;
    return true;
  }
  template <std::integral Integer>
  bool count(const std::string& key, Integer& value, int least) {
    if (put(key, value, integer_type(least))) return true;
    double number = 0.0;
    if (!at_least(key, number, least)) return false;
    // The largest 64-bit integer has no double: its neighbour, a power of two, no longer fits.
    if (number != std::floor(number) || number >= std::ldexp(1.0, std::numeric_limits<Integer>::digits))
      return refuse(fmt::format("{} is {}: a whole number is needed", where(key), number));
    value = static_cast<Integer>(number);
    return true;
  }
  /// null: no value.
  bool count(const std::string& key, std::optional<int>& value, int least) {
    if (put(key, value_or_null(value), or_null(integer_type(least)))) return true;
    value.reset();
    return (has(key) && source_->at(key).is_null()) || count(key, value.emplace(), least);
  }
  /// A text that is not empty.
  bool text(const std::string& key, std::string& value) {
    if (put(key, value, with(text_type(), "minLength", 1))) return true;
    const auto* const found = required(key, "a text", &Json::is_string);
    if (found == nullptr) return false;
    if (found->get_ref<const std::string&>().empty())
      return refuse(fmt::format("{} is missing: a text is needed", where(key)));
    value = found->get<std::string>();
    return true;
  }
  bool texts(const std::string& key, std::vector<std::string>& values) {
    if (put(key, values, list_type(text_type()))) return true;
    const auto* const found = required(key, "a list of texts", &Json::is_array);
    if (found == nullptr) return false;
    if (!std::ranges::all_of(*found, [](const Json& entry) { return entry.is_string(); }))
      return refuse(fmt::format("{} must be a list of texts", where(key)));
    values = found->get<std::vector<std::string>>();
    return true;
  }
  /// A list of whole numbers.
  bool counts(const std::string& key, std::vector<int>& values, int least) {
    if (put(key, values, list_type(integer_type(least)))) return true;
    const auto* const found = required(key, "a list of whole numbers", &Json::is_array);
    if (found == nullptr) return false;
    const auto is_right = [&](const Json& entry) {
      return entry.is_number_integer() && entry >= least && entry <= std::numeric_limits<int>::max();
    };
    if (!std::ranges::all_of(*found, is_right))
      return refuse(fmt::format("{} must be a list of whole numbers from {} on", where(key), least));
    values = found->get<std::vector<int>>();
    return true;
  }
  bool flag(const std::string& key, bool& value) {
    if (put(key, value, flag_type())) return true;
    if (!has(key) || !source_->at(key).is_boolean())
      return refuse(fmt::format("{} must be true or false", where(key)));
    value = source_->at(key).get<bool>();
    return true;
  }
  /// The name of a value in its table.
  template <typename Value>
  bool name(const std::string& key, Value& value, std::span<const NamedValue<Value>> table) {
    if (put(key, name_in(table, value), word_type(names_of(table)))) return true;
    std::string name;
    if (!text(key, name)) return false;
    const auto found = value_in(table, name);
    if (!found)
      return refuse(
          fmt::format("{} is \"{}\": it must be {}", where(key), name, fmt::join(names_of(table), " or ")));
    value = *found;
    return true;
  }
  /// An object whose members describe(fields) names.
  template <typename Describe>
  bool object(const std::string& key, const Describe& describe) {
    if (use_ == Use::specifies) return put(key, {}, schema(describe));
    if (use_ == Use::writes) {
      Json written = Json::object();
      auto fields = writer(written);
      describe(fields);
      return put(key, std::move(written), {});
    }
    const auto* const found = required(key, "an object", &Json::is_object);
    return found != nullptr && inner(*found, inner_path(key)).describe_whole(describe);
  }
  /// A list of objects, at least `least`; describe(fields, value) names the members of each.
  template <typename Value, typename Describe>
  bool list(const std::string& key, std::vector<Value>& values, int least, const Describe& describe) {
    if (use_ == Use::specifies) {
      Value value{};
      return put(key, {}, list_type(schema([&](auto& fields) { describe(fields, value); }), least));
    }
    if (use_ == Use::writes) {
      Json written = Json::array();
      for (auto& value : values) {
        auto fields = writer(written.emplace_back(Json::object()));
        describe(fields, value);
      }
      return put(key, std::move(written), {});
    }
    const std::string needed = least == 0 ? "a list" : "a list with at least one entry";
    const auto* const entries = required(key, needed, &Json::is_array);
    if (entries == nullptr) return false;
    if (std::ssize(*entries) < least)
      return refuse(fmt::format("{} is missing: {} is needed", where(key), needed));
    bool is_whole = true;
    for (const auto& entry : *entries) {
      const auto path = fmt::format("{}[{}]", inner_path(key), values.size());
      auto& value = values.emplace_back();
      if (entry.is_object())
        is_whole =
            inner(entry, path).describe_whole([&](auto& fields) { describe(fields, value); }) && is_whole;
      else
        is_whole = refuse(fmt::format("\"{}\" must be an object", path));
    }
    return is_whole;
  }

 private:
  static constexpr double least_magnitude = 1e-30;
  static constexpr double greatest_magnitude = 1e30;

  enum class Use { reads, writes, specifies };
  struct Problems {
    std::vector<std::string> texts;
    ExitCode code = ExitCode::usage;
  };

  JsonFields(Use use, const Json* source, Json* target, std::string path, Problems* problems)
      : use_(use), source_(source), target_(target), path_(std::move(path)), problems_(problems) {}

  [[nodiscard]] JsonFields inner(const Json& source, std::string path) const {
    return {use_, &source, nullptr, std::move(path), problems_};
  }
  [[nodiscard]] std::string inner_path(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  /// "2 problems: first; second".
  static std::string text_of(const std::vector<std::string>& problems) {
    constexpr std::ptrdiff_t most_shown = 12;
    if (problems.size() == 1) return problems.front();
    const auto shown = std::min(std::ssize(problems), most_shown);
    const auto others = std::ssize(problems) - shown;
    return fmt::format("{} problems: {}{}", problems.size(),
                       fmt::join(problems.begin(), problems.begin() + shown, "; "),
                       others > 0 ? fmt::format("; and {} more", others) : "");
  }
  bool refuse(std::string problem) {
    complain(std::move(problem));
    return false;
  }
  /// Reads an object to its end. Returns whether all of it is right.
  template <typename Describe>
  bool describe_whole(const Describe& describe) {
    const auto before = problems_->texts.size();
    try {
      describe(*this);
      for (const auto& [key, value] : source_->items()) {
        if (std::ranges::find(known_, key) == known_.end())
          complain(fmt::format("{} is nothing that is read here{}", where(key), did_you_mean(key, known_)));
      }
    } catch (const InputError& error) {
      complain(error.what());
    }
    return problems_->texts.size() == before;
  }
  /// Writes the member, or its type. False when reading.
  bool put(const std::string& key, Json value, FigureType type) {
    if (use_ == Use::writes) (*target_)[key] = std::move(value);
    if (use_ == Use::specifies) {
      (*target_)["properties"][key] = std::move(type);
      if (std::ranges::find(optional_, key) == optional_.end()) (*target_)["required"].push_back(key);
    }
    return !reads();
  }
  /// The member, if it is there and of the kind; else nullptr, and a problem.
  [[nodiscard]] const Json* required(const std::string& key, const std::string& kind,
                                     bool (Json::*is_kind)() const noexcept) {
    if (has(key) && (source_->at(key).*is_kind)()) return &source_->at(key);
    complain(fmt::format("{} is missing: {} is needed", where(key), kind));
    return nullptr;
  }
  bool at_least(const std::string& key, double& value, double least) {
    if (!has(key)) return refuse(fmt::format("{} is missing: a number is needed", where(key)));
    const auto& member = source_->at(key);
    if (!member.is_number())
      return refuse(fmt::format("{} must be a number, not {}", where(key), json_text(member)));
    const auto number = member.get<double>();
    if (!std::isfinite(number) || number < least)
      return refuse(fmt::format("{} is {}: it must be at least {:g}", where(key), json_text(member), least));
    if (!is_computable(number)) {
      problems_->code = ExitCode::bad_data;
      return refuse(fmt::format("{} is {}: it must be within {:g} ... {:g}", where(key), json_text(member),
                                least_magnitude, greatest_magnitude));
    }
    value = number;
    return true;
  }

  Use use_;
  const Json* source_;
  Json* target_;
  std::string path_;
  Problems* problems_;                 ///< of the whole file; reading only
  std::vector<std::string> known_;     ///< keys that were asked for; reading only
  std::vector<std::string> optional_;  ///< keys that has() named; specifying only
};

}  // namespace cg2d
