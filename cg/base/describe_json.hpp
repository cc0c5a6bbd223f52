#pragma once

// JSON from described structs, described structs from JSON, and the schemas of both.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cg/base/describe.hpp"
#include "cg/base/json_values.hpp"

namespace cg2d {

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
