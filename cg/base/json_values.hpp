#pragma once

// Values of JSON that need care, and JSON as text.

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "cg/base/errors.hpp"

namespace cg2d {

/// Objects keep their members in the order in which they were added.
using Json = nlohmann::ordered_json;

/// JSON has no NaN and no infinity: null stands for them.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// The only way from the text of a file to JSON in cg2d. Throws InputError for a text that is nested deeper than
/// any file of cg2d, which would exhaust the stack of whatever walks through it, and the library's exceptions.
nlohmann::ordered_json json_from(std::string_view text);

/// The only way from JSON to text in cg2d; indentation -1: one line. Paths and texts of the system may hold
/// bytes that are not UTF-8. They must not cost a run its result: U+FFFD replaces each.
inline std::string json_text(const Json& json, int indentation = -1) {
  return json.dump(indentation, ' ', false, Json::error_handler_t::replace);
}

/// The member of an object as a whole number that fits; the library's own conversion would wrap it around. Throws
/// InputError, and the library's exceptions where the key is missing.
template <typename Integer>
Integer integer_at(const nlohmann::ordered_json& json, const std::string& key) {
  const auto& value = json.at(key);
  const bool is_large = value.is_number_unsigned() && !std::in_range<Integer>(value.get<std::uint64_t>());
  if (!value.is_number_integer() || is_large || !std::in_range<Integer>(value.get<std::int64_t>()))
    throw InputError("its " + key + " is " + json_text(value) +
                     ": a whole number in the usual range is needed");
  return value.get<Integer>();
}

/// The text of the library's error without the number that it begins with: "[json.exception.parse_error.101] ".
inline std::string plain_text(const nlohmann::json::exception& error) {
  const std::string text(error.what());
  return text.substr(text.find(']') + 2);
}

}  // namespace cg2d
