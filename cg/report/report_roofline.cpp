#include "cg/report/report_roofline.hpp"

#include <fmt/format.h>

#include "cg/run/roofline.hpp"

namespace cg2d {
namespace {

constexpr double giga = 1e9;

bool has_limits(const RunReport& report) {
  return report.phases_timed && !report.ranks.empty() && report.ranks.front().limits.are_known();
}

MachineLimits sum_of_limits(const RunReport& report) {
  MachineLimits sum;
  for (const auto& rank : report.ranks) {
    sum.matrix_bytes_per_s += rank.limits.matrix_bytes_per_s;
    sum.vector_bytes_per_s += rank.limits.vector_bytes_per_s;
    sum.flops_per_s += rank.limits.flops_per_s;
  }
  return sum;
}

}  // namespace

std::array<PhaseShare, phase_count> phase_shares(const RunReport& report) {
  std::array<PhaseShare, phase_count> shares{};
  const auto& repeat = median_repeat(report);
  const auto rank_count = static_cast<double>(repeat.ranks.size());
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& facts = report.ranks[rank];
    const auto work = work_of(facts, repeat.ranks[rank]);
    for (std::size_t index = 0; index < phase_count; ++index) {
      auto& share = shares[index];
      share.byte_count += work[index].byte_count / rank_count;
      share.flop_count += work[index].flop_count / rank_count;
      share.shortest_s += shortest_time_s(phase_at(index), work[index], facts.limits) / rank_count;
      share.measured_s +=
          static_cast<double>(repeat.ranks[rank].phases[index].clocks) / facts.ticks_per_second / rank_count;
    }
  }
  return shares;
}

std::string roofline_text(const RunReport& report) {
  if (!has_limits(report)) return {};
  const auto limits = sum_of_limits(report);
  std::string text = fmt::format(
      "\n Limits, all ranks at once: {:.1f} GB/s over the matrices, {:.1f} GB/s over the vectors, "
      "{:.1f} Gflop/s\n {:<15} {:>12} {:>12} {:>9} {:>9} {:>12} {:>12} {:>9}\n",
      limits.matrix_bytes_per_s / giga, limits.vector_bytes_per_s / giga, limits.flops_per_s / giga, "phase",
      "bytes", "flops", "GB/s", "Gflop/s", "limit us", "measured us", "share");
  const double steps = cg_step_count(report);
  const auto rank_count = static_cast<double>(report.ranks.size());
  constexpr double microseconds = 1e6;
  const auto shares = phase_shares(report);
  for (std::size_t index = 0; index < phase_count; ++index) {
    const auto& share = shares[index];
    const double all_ranks_per_s = share.measured_s > 0.0 ? rank_count / share.measured_s : 0.0;
    text += fmt::format(" {:<15} {:>12.0f} {:>12.0f} {:>9.2f} {:>9.3f} {:>12.1f} {:>12.1f} {:>7.1f} %\n",
                        phase_name(phase_at(index)), share.byte_count / steps, share.flop_count / steps,
                        share.byte_count * all_ranks_per_s / giga, share.flop_count * all_ranks_per_s / giga,
                        microseconds * share.shortest_s / steps, microseconds * share.measured_s / steps,
                        100.0 * share.share());
  }
  return text +
         " bytes and flops that a CG step must move and compute (mean of the ranks); rates of all ranks; "
         "share "
         "= limit / measured\n";
}

nlohmann::ordered_json roofline_json(const RunReport& report) {
  if (!has_limits(report)) return nullptr;
  const auto limits = sum_of_limits(report);
  nlohmann::ordered_json phases = nlohmann::ordered_json::object();
  const auto shares = phase_shares(report);
  for (std::size_t index = 0; index < phase_count; ++index) {
    const auto& share = shares[index];
    phases[std::string(phase_name(phase_at(index)))] = {{"bytes", share.byte_count},
                                                        {"flops", share.flop_count},
                                                        {"limit_s", share.shortest_s},
                                                        {"measured_s", share.measured_s},
                                                        {"share", share.share()}};
  }
  return {{"matrix_bytes_per_s", limits.matrix_bytes_per_s},
          {"vector_bytes_per_s", limits.vector_bytes_per_s},
          {"flops_per_s", limits.flops_per_s},
          {"phases", std::move(phases)}};
}

}  // namespace cg2d
