#pragma once

// The members of JSON objects in files that are both read and written: one description serves both.

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
#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

/// The members of one object. Each call names a key and the variable that holds its value: reading sets the
/// variable, writing adds the member. Reading throws InputError that says which key is wrong, with the path to
/// it, and what it must be, also for a key that no call names; writing checks nothing.
class JsonFields {
 public:
  /// path: of the object in its file, for messages; empty: it is the whole file. The object must outlive this.
  static JsonFields reader(const Json& json, std::string path) {
    if (!json.is_object()) throw InputError(fmt::format("\"{}\" must be an object", path));
    return {&json, nullptr, std::move(path)};
  }
  /// Adds to the object, which must outlive this and stay where it is.
  static JsonFields writer(Json& json) { return {nullptr, &json, {}}; }

  [[nodiscard]] bool reads() const { return source_ != nullptr; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The key with its path in quotes.
  [[nodiscard]] std::string where(const std::string& key) const {
    return path_.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}.{}\"", path_, key);
  }
  /// Whether the file has an optional member. Writing: whether it is to have it. Reading, the key is known from now on.
  [[nodiscard]] bool has(const std::string& key, bool is_written = true) {
    if (!reads()) return is_written;
    known_.push_back(key);
    return source_->contains(key);
  }
  /// Reading: throws InputError for a member that no call has named, with the known key that is nearest. To be called
  /// after the last of the object; object() and list() do so for theirs.
  void require_no_others() const {
    if (!reads()) return;
    for (const auto& [key, value] : source_->items()) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      throw InputError(
          fmt::format("{} is nothing that is read here{}", where(key), did_you_mean(key, known_)));
    }
  }
  /// Whether the first of two keys that exclude each other is there. It is the one that is written.
  [[nodiscard]] bool has_first(const std::string& first, const std::string& second) {
    const bool is_first = has(first);
    if (reads() && has(second) == is_first)
      throw InputError(fmt::format("{} or {} is needed, one of the two", where(first), where(second)));
    return is_first;
  }

  /// A number that is at least 0.
  void number(const std::string& key, double& value) { at_least(key, value, 0.0); }
  void positive(const std::string& key, double& value) {
    number(key, value);
    if (reads() && value <= 0.0) throw InputError(fmt::format("{} must be greater than 0", where(key)));
  }
  template <std::integral Integer>
  void count(const std::string& key, Integer& value, int least) {
    if (put(key, value)) return;
    double number = 0.0;
    at_least(key, number, least);
    // The largest 64-bit integer has no double: its neighbour, a power of two, no longer fits.
    if (number != std::floor(number) || number >= std::ldexp(1.0, std::numeric_limits<Integer>::digits))
      throw InputError(fmt::format("{} is {}: a whole number is needed", where(key), number));
    value = static_cast<Integer>(number);
  }
  /// null: no value.
  void count(const std::string& key, std::optional<int>& value, int least) {
    if (put(key, value_or_null(value))) return;
    value.reset();
    if (!has(key) || !source_->at(key).is_null()) count(key, value.emplace(), least);
  }
  /// A text that is not empty.
  void text(const std::string& key, std::string& value) {
    if (put(key, value)) return;
    value = required(key, "a text", &Json::is_string).get<std::string>();
    if (value.empty()) throw InputError(fmt::format("{} is missing: a text is needed", where(key)));
  }
  void texts(const std::string& key, std::vector<std::string>& values) {
    if (!put(key, values)) values = required(key, "a list", &Json::is_array).get<std::vector<std::string>>();
  }
  void flag(const std::string& key, bool& value) {
    if (put(key, value)) return;
    if (!has(key) || !source_->at(key).is_boolean())
      throw InputError(fmt::format("{} must be true or false", where(key)));
    value = source_->at(key).get<bool>();
  }
  /// The name of a value in its table.
  template <typename Value>
  void name(const std::string& key, Value& value, std::span<const NamedValue<Value>> table) {
    if (!reads()) {
      put(key, name_in(table, value));
      return;
    }
    std::string name;
    text(key, name);
    const auto found = value_in(table, name);
    if (!found) {
      throw InputError(
          fmt::format("{} is \"{}\": it must be {}", where(key), name, fmt::join(names_of(table), " or ")));
    }
    value = *found;
  }
  /// An object whose members describe(fields) names.
  template <typename Describe>
  void object(const std::string& key, const Describe& describe) {
    Json written = Json::object();
    auto fields =
        reads() ? reader(required(key, "an object", &Json::is_object), inner_path(key)) : writer(written);
    describe(fields);
    fields.require_no_others();
    put(key, std::move(written));
  }
  /// A list of objects, at least `least`; describe(fields, value) names the members of each.
  template <typename Value, typename Describe>
  void list(const std::string& key, std::vector<Value>& values, std::size_t least, const Describe& describe) {
    if (!reads()) {
      Json written = Json::array();
      for (auto& value : values) {
        auto fields = writer(written.emplace_back(Json::object()));
        describe(fields, value);
      }
      put(key, std::move(written));
      return;
    }
    const std::string needed = least == 0 ? "a list" : "a list with at least one entry";
    const auto& entries = required(key, needed, &Json::is_array);
    if (entries.size() < least)
      throw InputError(fmt::format("{} is missing: {} is needed", where(key), needed));
    for (const auto& entry : entries) {
      auto fields = reader(entry, fmt::format("{}[{}]", inner_path(key), values.size()));
      describe(fields, values.emplace_back());
      fields.require_no_others();
    }
  }

 private:
  JsonFields(const Json* source, Json* target, std::string path)
      : source_(source), target_(target), path_(std::move(path)) {}

  [[nodiscard]] std::string inner_path(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  /// Writes the member. False when reading.
  bool put(const std::string& key, Json value) {
    if (!reads()) (*target_)[key] = std::move(value);
    return !reads();
  }
  /// The member, if it is there and of the kind.
  [[nodiscard]] const Json& required(const std::string& key, const std::string& kind,
                                     bool (Json::*is_kind)() const noexcept) {
    if (!has(key) || !(source_->at(key).*is_kind)())
      throw InputError(fmt::format("{} is missing: {} is needed", where(key), kind));
    return source_->at(key);
  }
  void at_least(const std::string& key, double& value, double least) {
    if (put(key, value)) return;
    if (!has(key)) throw InputError(fmt::format("{} is missing: a number is needed", where(key)));
    const auto& member = source_->at(key);
    if (!member.is_number())
      throw InputError(fmt::format("{} must be a number, not {}", where(key), json_text(member)));
    value = member.get<double>();
    if (!std::isfinite(value) || value < least) {
      throw InputError(
          fmt::format("{} is {}: it must be at least {:g}", where(key), json_text(member), least));
    }
  }

  const Json* source_;
  Json* target_;
  std::string path_;
  std::vector<std::string> known_;  ///< keys that were asked for; reading only
};

}  // namespace cg2d
