#include "cg/commands/option_values.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes.
std::optional<std::int64_t> byte_count_from(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view rest(text);
  const auto drop_last = [&](char letter) {
    const bool found = rest.ends_with(letter);
    if (found) rest.remove_suffix(1);
    return found;
  };
  drop_last('b');
  const double step = drop_last('i') ? 1024.0 : 1000.0;
  constexpr std::string_view prefixes = "kmgtp";
  const auto prefix = rest.empty() ? std::string_view::npos : prefixes.find(rest.back());
  double unit = 1.0;
  if (prefix != std::string_view::npos) {
    rest.remove_suffix(1);
    unit = std::pow(step, static_cast<double>(prefix + 1));
  } else if (step == 1024.0) {
    return std::nullopt;
  }
  const auto number = number_from<double>(rest);
  constexpr double largest = 9e18;  // within 63 bits
  if (!number || !(*number * unit >= 1.0 && *number * unit <= largest)) return std::nullopt;
  return static_cast<std::int64_t>(*number * unit);
}

}  // namespace

CLI::Validator byte_count() {
  return {[](std::string& text) {
            const auto value = byte_count_from(text);
            if (!value) return fmt::format("\"{}\" is not a size, such as 8GB or 512MiB", text);
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

CLI::Validator file_name() {
  return {[](std::string& text) {
            return text.empty() ? std::string("the name of the file is empty") : std::string();
          },
          ""};
}

Problem problem_class(const std::string& letter) {
  const auto* known = find_class(letter);
  if (known == nullptr)
    throw InputError(fmt::format("--class {}: unknown; valid: S, W, A, B, C, D, E, F", letter));
  return *known;
}

}  // namespace cg2d
