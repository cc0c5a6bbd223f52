#pragma once

// The configuration of a result, which tells results apart, and its axes as JSON, by the table of axes.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cg/solver/configuration.hpp"

namespace cg2d {

/// The axes that a JSON object gets: all of them, or those that sweeps cross.
enum class AxesIn { a_report, a_sweep };
/// Adds one member for each of them, in the order of the table.
void put_axes(nlohmann::ordered_json& json, const Configuration& configuration, AxesIn which);

/// Sets the axes that are members of the object; the other axes stay as they are. Throws InputError
/// for a value that the axis cannot have.
void read_axes(const nlohmann::ordered_json& json, Configuration& configuration);

/// One problem with one configuration: the run that a sweep makes and that results are compared by.
struct ConfiguredProblem {
  std::string problem;  ///< by problem_name()
  Configuration configuration{};

  /// Its unique text: "A 2x4 auto two-sided 1 thread".
  [[nodiscard]] std::string key() const { return problem + " " + configuration_key(configuration); }
  friend bool operator==(const ConfiguredProblem&, const ConfiguredProblem&) = default;
};

}  // namespace cg2d
