#pragma once

// JSON as text and from it; JSON from described structs, described structs from JSON, and the schemas of both.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {

/// The only way from the text of a file to JSON in cg2d. Throws InputError for a text that is nested deeper than
/// any file of cg2d, which would exhaust the stack of whatever walks through it, and the library's exceptions.
Json json_from(std::string_view text);

/// The only way from JSON to text in cg2d; indentation -1: one line. Paths and texts of the system may hold
/// bytes that are not UTF-8. They must not cost a run its result: U+FFFD replaces each.
inline std::string json_text(const Json& json, int indentation = -1) {
  return json.dump(indentation, ' ', false, Json::error_handler_t::replace);
}

/// The text of the library's error without the number that it begins with: "[json.exception.parse_error.101] ".
inline std::string plain_text(const nlohmann::json::exception& error) {
  const std::string text(error.what());
  return text.substr(text.find(']') + 2);
}

Json written(const Visit& visit);
/// Throws InputError that has every problem, each with the path of the member and what would be right.
void read_into(const Visit& visit, const Json& json);
Json specified(const Visit& visit);

/// The value as JSON. JSON has no NaN and no infinity: null stands for them.
template <typename Value>
Json json_of(const Value& value) {
  return written(visit_of(value));
}
/// Throws InputError as read_into().
template <typename Value>
Value from_json(const Json& json) {
  Value value{};
  read_into(visit_of(value), json);
  return value;
}
/// Types, least values, units and meanings. `unit`, `label`, `columns` and `metric` are keywords of ours.
template <typename Value>
Json schema_of() {
  return specified(visit_new<Value>);
}

}  // namespace cg2d
