#include "cg/machine/measurement_record.hpp"

#include <fmt/chrono.h>

#include <ctime>

#include "cg/base/describe.hpp"

namespace cg2d {
namespace {

/// Seconds since 1970; empty for a text that is no date.
std::optional<std::time_t> seconds_of(const std::string& date) {
  std::tm parts{};
  const char* const end = strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

}  // namespace

void describe_measured(Members& m, MeasurementRecord& record) {
  m.object_if(!record.date.empty(), "measured", {}, [&] {
    m("date", record.date, not_empty());
    m("attempts", record.attempts, at_least(0));
    m("switches_per_s", record.switches_per_s, cost());
    m("steal_share", record.steal_share, cost());
    m("spread", record.spread, cost());
    m.if_given("disturbance", record.disturbance, !record.disturbance.empty(), not_empty());
    if (m.reads() && !record.date.empty() && !seconds_of(record.date))
      m.complain(fmt::format("{} is \"{}\": a date as 2026-11-22T12:30:00Z is needed", m.where("date"),
                             record.date));
  });
}

std::string date_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string describe(const MeasurementRecord& record) {
  if (record.date.empty()) return "of unknown date";
  constexpr size_t day_length = 10;
  const auto text = fmt::format("measured {}", record.date.substr(0, day_length));
  return record.disturbance.empty() ? text : fmt::format("{}, disturbed: {}", text, record.disturbance);
}

std::string remark_on(const MeasurementRecord& record, const std::string& now) {
  if (!record.disturbance.empty()) return describe(record);
  // Half a year: kernels of the system, firmware and compilers change the figures a few times a year.
  constexpr double most_days = 180.0;
  constexpr double seconds_per_day = 86'400.0;
  const auto begin = seconds_of(record.date);
  const auto end = seconds_of(now);
  if (!begin || !end) return {};
  const double days = std::difftime(*end, *begin) / seconds_per_day;
  return days > most_days ? fmt::format("{}, {:.0f} days ago", describe(record), days) : std::string();
}

}  // namespace cg2d
