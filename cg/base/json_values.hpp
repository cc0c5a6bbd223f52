#pragma once

// Values of JSON that need care, and JSON as text.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cg2d {

/// Objects keep their members in the order in which they were added.
using Json = nlohmann::ordered_json;

/// An optional value of a result. JSON has no NaN and no infinity either: null stands for all of them.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
/// The value, or null for none.
template <typename Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

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

/// A text as JSON returns it after writing and reading: bytes that are not UTF-8 are replaced.
inline std::string text_in_json(const std::string& text) {
  return Json::parse(json_text(text)).get<std::string>();
}

}  // namespace cg2d
