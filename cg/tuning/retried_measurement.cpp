#include "cg/tuning/retried_measurement.hpp"

#include <fmt/format.h>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::string RejectReason::text(int attempts) const {
  return fmt::format("measured {}, and refused: {}; nothing is saved: try again when the machine is quiet{}",
                     format_count(attempts, "time"), reason,
                     makes_no_sense ? "" : ", or keep it by --keep-disturbed");
}

namespace detail {

RejectReason judge(comm::RankGroup& group, const RetryConfig& config, NoiseMonitor& monitor, double spread,
                   const std::string& unphysical, MeasurementRecord& record) {
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  constexpr double percent = 100.0;
  auto quiet = monitor.result();
  record.quality = {.switches_per_s = quiet.switches_per_s,
                    .steal_share = quiet.steal_share.value_or(0.0),
                    .spread = group.maximum(spread)};
  if (record.quality.spread > most_spread)
    quiet.disturbances.push_back(fmt::format("the repeats' quartiles lie {:.0f} % apart (at most {:.0f} %)",
                                             percent * record.quality.spread, percent * most_spread));
  record.disturbance = quiet.reason();
  record.date = group.broadcast(date_now());
  if (auto fault = group.broadcast(unphysical); !fault.empty())
    return {.reason = std::move(fault), .makes_no_sense = true};
  if (config.keeps_disturbed) return {};
  return {.reason = record.disturbance};
}

bool measures_again(const RetryConfig& config, const std::string& what, const RejectReason& rejected,
                    int attempts) {
  constexpr int most_attempts = 3;
  if (rejected.reason.empty() || attempts >= most_attempts) return false;
  config.say(fmt::format("{}: once more, since {}", what, rejected.reason));
  return true;
}

void refuse(const std::string& what, const RejectReason& rejected, int attempts) {
  throw RunError(ExitCode::try_again, fmt::format("{}: {}", what, rejected.text(attempts)));
}

}  // namespace detail

std::string describe_origin(const KeptResult& kept, double duration_s) {
  if (kept.from_profile) return fmt::format("from the profile {}", kept.kept_in);
  return fmt::format("measured now in {:.3g} s, {}", duration_s,
                     kept.not_kept_because.empty() ? fmt::format("kept in {}", kept.kept_in)
                                                   : fmt::format("not kept: {}", kept.not_kept_because));
}

std::vector<std::string> warnings_of(const KeptResult& kept, std::string_view measurement,
                                     const ProfileSource& source, const MatrixFacts& matrix) {
  std::vector<std::string> warnings;
  if (!kept.not_kept_because.empty() && source.is_used)
    warnings.push_back(fmt::format("{} is not kept: {}", measurement, kept.not_kept_because));
  const auto remark = kept.kept_in.empty() ? std::string() : remark_on(kept.measured, date_now());
  if (!remark.empty()) {
    warnings.push_back(
        fmt::format("{} was {}; cg2d tune --remove {} renews it", measurement, remark, matrix.key.name));
  }
  return warnings;
}

void keep_result(comm::RankGroup& group, const ProfileSource& source,
                 const std::optional<std::string>& processor, const ProcessorProfile& found,
                 KeptResult& kept) {
  if (!kept.not_kept_because.empty()) return;
  if (!source.is_used) {
    kept.not_kept_because = "--no-profile";
    return;
  }
  if (!processor) {
    kept.not_kept_because = "the nodes have different processors";
    return;
  }
  if (group.rank() == 0) {
    try {
      const ProfileFile file(source);
      file.add(*processor, found);
      kept.kept_in = file.path();
    } catch (const RunError& error) {
      kept.not_kept_because = error.what();
    }
  }
  kept.kept_in = group.broadcast(kept.kept_in);
  kept.not_kept_because = group.broadcast(kept.not_kept_because);
}

void describe_origin(Members& m, KeptResult& kept) {
  std::string from = kept.from_profile ? "profile" : "measurement";
  m("from", from, meaning("Whether it was measured now, or is known from an earlier run."));
  if (m.reads()) kept.from_profile = from == "profile";
}

void describe_place(Members& m, KeptResult& kept) {
  auto kept_in = kept.kept_in.empty() ? std::nullopt : std::optional(kept.kept_in);
  m("kept_in", kept_in, or_null("The tuning profile; null: none."));
  m("not_kept_because", kept.not_kept_because, meaning("Empty where kept."));
  if (m.reads()) kept.kept_in = kept_in.value_or("");
}

}  // namespace cg2d
