#include "cg/base/json_values.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

// The files of cg2d have 10 levels at most.
constexpr int most_levels = 100;

/// Whether arrays and objects are within each other in more levels. A text that is no JSON gives any answer for
/// the part after its first error, which no parser reads.
bool nests_too_deep(std::string_view text) {
  int level = 0;
  bool is_string = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char letter = text[k];
    if (is_string && letter == '\\') {
      ++k;
    } else if (letter == '"') {
      is_string = !is_string;
    } else if (!is_string && (letter == '[' || letter == '{')) {
      if (++level > most_levels) return true;
    } else if (!is_string && (letter == ']' || letter == '}')) {
      --level;
    }
  }
  return false;
}

}  // namespace

nlohmann::ordered_json json_from(std::string_view text) {
  if (nests_too_deep(text)) throw InputError("it is nested in more than {} levels", most_levels);
  return nlohmann::ordered_json::parse(text);
}

std::string text_in_json(const std::string& text) { return Json::parse(json_text(text)).get<std::string>(); }

}  // namespace cg2d
