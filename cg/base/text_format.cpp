#include "cg/base/text_format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace cg2d {

std::string format_bytes(std::int64_t byte_count) {
  constexpr std::array<std::string_view, 7> units{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(byte_count);
  std::size_t unit = 0;
  // Three digits are shown: what rounds to 1000 takes the next unit.
  while (std::abs(value) >= (unit == 0 ? 1000.0 : 999.5) && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", byte_count) : fmt::format("{:.3g} {}", value, units[unit]);
}

std::string format_fortran(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : (value > 0 ? "Infinity" : "-Infinity");
  if (value == 0.0) return fmt::format("0.{:0>{}}E+00", 0, digits);
  // C's d.ddddE+xx with digits - 1 decimals, its point moved by one place.
  std::string text = fmt::format("{:.{}E}", std::abs(value), digits - 1);
  const auto exponent_at = text.find('E');
  const int exponent = std::stoi(text.substr(exponent_at + 1)) + 1;
  std::string mantissa = text.substr(0, exponent_at);
  if (const auto point = mantissa.find('.'); point != std::string::npos) mantissa.erase(point, 1);
  return fmt::format("{}0.{}E{}{:02}", value < 0 ? "-" : "", mantissa, exponent < 0 ? '-' : '+',
                     std::abs(exponent));
}

std::string format_count(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cg2d
