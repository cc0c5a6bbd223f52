#pragma once

// Parts of a run's report that say how far its figures can be believed: the machine's quiet in the timed
// region, and the origin of the result.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cg/machine/provenance.hpp"

namespace cg2d {

struct RunReport;

/// The figures of the repetition reported, in one line; for a report with at least one repeat.
std::string quiet_text(const RunReport& report);
/// "disturbed: ..." with the reason and the advice, in one line; empty for a quiet run.
std::string disturbance_warning(const RunReport& report);

/// "1a2b3c4d5e6f, tree changed".
std::string commit_text(const Provenance& provenance);

}  // namespace cg2d
