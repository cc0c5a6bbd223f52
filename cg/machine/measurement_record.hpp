#pragma once

// The quality and date of measurements that files keep for later runs.

#include <string>

namespace cg2d {

/// The machine's quiet during a measurement (QuietResult), and how well its repeats agree.
struct MeasurementQuality {
  double switches_per_s = 0.0;
  double steal_share = 0.0;
  double spread = 0.0;  ///< spread of the repeats that spread most, see spread_of_repeats()
};

/// The circumstances of a measurement, kept in its file.
struct MeasurementRecord {
  /// UTC, "2026-11-22T12:30:00Z"; empty where an earlier program measured: nothing is known.
  std::string date{};
  int attempts = 0;  ///< the last one counts
  MeasurementQuality quality{};
  std::string disturbance{};  ///< why it is not to be trusted, where the user kept it nevertheless
};

class Members;
/// The member "measured", where there is one.
void describe_measured(Members& m, MeasurementRecord& record);

/// The time now, as MeasurementRecord::date.
std::string date_now();

/// "measured 2026-11-22", with the disturbance and the age where they matter; "of unknown date".
std::string describe(const MeasurementRecord& record);
/// One phrase for a run that uses the measurement; empty if it is neither old nor poor, and where nothing is
/// known. now: as date_now().
std::string remark_on(const MeasurementRecord& record, const std::string& now);

}  // namespace cg2d
