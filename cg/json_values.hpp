#pragma once

// Values that a result may not have. JSON has no NaN and no infinity either: null stands for all of them.

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace cg2d {

inline nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}
inline nlohmann::ordered_json number_or_null(const std::optional<int>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace cg2d
