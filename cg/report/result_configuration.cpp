#include "cg/report/result_configuration.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(const ConfigurationAxis& axis, const Configuration& configuration) {
  const auto text = axis.print(configuration);
  switch (axis.type) {
    case AxisType::number:
      return *number_from<int>(text);
    case AxisType::flag:
      return text == "on";
    case AxisType::text:
      break;
  }
  return text;
}

std::string text_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace

void put_axes(Json& json, const Configuration& configuration, AxesIn which) {
  for (const auto& axis : configuration_axes()) {
    if (which == AxesIn::a_report || axis.is_crossed())
      json[std::string(axis.name)] = value_of(axis, configuration);
  }
}

void read_axes(const Json& json, Configuration& configuration) {
  for (const auto& axis : configuration_axes()) {
    const auto value = json.find(std::string(axis.name));
    if (value == json.end()) continue;
    try {
      axis.parse_recorded(configuration, text_of(*value));
    } catch (const InputError& error) {
      throw InputError(fmt::format("its {} cannot be read ({})", axis.name, error.what()));
    }
  }
}

}  // namespace cg2d
