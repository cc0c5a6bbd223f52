#pragma once

// The parts of results that do not depend on what was measured, as JSON.

#include <nlohmann/json_fwd.hpp>

namespace cg2d {

struct Environment;
struct SessionReport;
enum class WorkKind;

/// Schema version, program, status, reason, exit code and warnings: the first members of a result.
nlohmann::ordered_json head_json(const SessionReport& report, int schema_version);
/// The environment with waiting and binding; null where the work ended before it was known.
nlohmann::ordered_json session_environment_json(const SessionReport& report);
/// Grid, axes and the trials that chose them.
nlohmann::ordered_json session_configuration_json(const SessionReport& report);
/// The sections of features that were used.
void put_feature_sections(nlohmann::ordered_json& json, const SessionReport& report, WorkKind kind);

/// Program and version.
nlohmann::ordered_json program_json();
/// Nodes with their processors and caches, the place of each rank, versions.
nlohmann::ordered_json environment_json(const Environment& environment);

}  // namespace cg2d
