#include "cg/report/report_origin.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/json_values.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {
namespace {

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100.0 * *share) : "not known";
}

}  // namespace

std::string quiet_text(const RunReport& report) {
  const auto& quiet = median_repeat(report).quiet;
  const auto load = quiet.other_load ? fmt::format("{:.2f} processors", *quiet.other_load) : "not known";
  return fmt::format(
      "{}: threads waited for a processor {}{}, steal {}, other processes {}, CPU speed differs by {:.1f} % "
      "between ranks and changed by {:+.1f} % during the run",
      disturbance(report).empty() ? "yes" : "no, see the warning", share_text(quiet.delay_share),
      quiet.is_oversubscribed ? " (they outnumber the cores)" : "", share_text(quiet.steal_share), load,
      100.0 * quiet.loop_spread, 100.0 * quiet.speed_change());
}

std::string disturbance_warning(const RunReport& report) {
  const auto reason = disturbance(report);
  return reason.empty() ? std::string() : "disturbed, so repeat it on a quiet machine: " + reason;
}

std::string commit_text(const Provenance& provenance) {
  constexpr std::size_t shown_letters = 12;
  const auto& commit = provenance.commit;
  return fmt::format("{}{}", commit.hash.substr(0, shown_letters),
                     commit.tree_changed.value_or(false) ? ", tree changed" : "");
}

}  // namespace cg2d
