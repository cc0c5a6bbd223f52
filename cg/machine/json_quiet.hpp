#pragma once

// Whether other work disturbed a measurement, in the results of commands that measure once.

#include "cg/base/json_record.hpp"
#include "cg/machine/noise_monitor.hpp"

namespace cg2d {

inline const Record<QuietResult>& disturbance_record() {
  static const Record<QuietResult> record{
      "quiet",
      {{"disturbed", flag_type(), &QuietResult::is_disturbed},
       {"reason", line_type(), &QuietResult::reason, "Empty where quiet."}},
      "Whether other work on the machine disturbed the measurements, and how."};
  return record;
}

}  // namespace cg2d
