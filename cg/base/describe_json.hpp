#pragma once

// JSON from described structs, described structs from JSON, and the schemas of both.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cg/base/describe.hpp"
#include "cg/base/json_values.hpp"

namespace cg2d {

/// Visits one value.
using Visit = std::function<void(Members& members)>;
Json written(const Visit& visit);
/// Throws InputError that has every problem, each with the path of the member and what would be right.
void read_into(const Visit& visit, const Json& json);
Json specified(const Visit& visit);

/// The value as JSON. JSON has no NaN and no infinity: null stands for them.
template <typename Value>
Json json_of(const Value& value) {
  // Writing changes nothing; one description serves both directions.
  return written(
      [&](Members& members) { members.visit(const_cast<Value&>(value)); });  // NOLINT(*-const-cast)
}
/// The same as the text of a document.
template <typename Value>
std::string document_text(const Value& value) {
  return json_text(json_of(value), 1) + "\n";
}
/// Throws InputError as read_into().
template <typename Value>
Value from_json(const Json& json) {
  Value value{};
  read_into([&](Members& members) { members.visit(value); }, json);
  return value;
}
/// Types, least values, units and meanings. `unit`, `label`, `columns` and `metric` are keywords of ours.
template <typename Value>
Json schema_of() {
  return specified([](Members& members) {
    Value value{};
    members.visit(value);
  });
}

}  // namespace cg2d
