#include "cg/report/session_record.hpp"

#include <functional>

#include "cg/base/json_verdicts.hpp"
#include "cg/run/session_report.hpp"
#include "cg/tuning/speed_trial.hpp"

namespace cg2d {
namespace {

const Record<QuietResult>& switches_record() {
  static const Record<QuietResult> record{
      "switches",
      {
          {"total", count_type(), &QuietResult::involuntary_switches},
          {"maximum", count_type(), &QuietResult::most_involuntary_switches},
      }};
  return record;
}

const Record<QuietResult>& loop_record() {
  static const Record<QuietResult> record{
      "loop",
      {
          part<QuietResult>("before", rank_range_record(), &QuietResult::loop_before_s),
          part<QuietResult>("after", rank_range_record(), &QuietResult::loop_after_s),
      }};
  return record;
}

/// A share that the system may not tell.
Figure<QuietResult> share(const std::string& name, std::optional<double> QuietResult::*member,
                          const std::string& meaning) {
  return {name, or_null(seconds_type()), member, meaning};
}

/// The figures of a KeptResult.
template <typename Kept>
Figure<Kept> origin_figure() {
  return {"from", word_type({"measurement", "profile"}),
          [](const auto& kept) { return kept.from_profile ? "profile" : "measurement"; },
          "Whether it was measured now, or is known from an earlier run."};
}
template <typename Kept>
Figure<Kept> kept_in_figure() {
  return {"kept_in", or_null(name_type()),
          [](const auto& kept) { return kept.kept_in.empty() ? Json(nullptr) : Json(kept.kept_in); },
          "The tuning profile; null: none."};
}
template <typename Kept>
Figure<Kept> not_kept_figure() {
  return {"not_kept_because", line_type(), &Kept::not_kept_because, "Empty where kept."};
}

}  // namespace

const Record<RowLengths>& row_length_record() {
  static const Record<RowLengths> record{
      "row_lengths",
      {{"critical_vector_length", count_type(), &RowLengths::critical_vector_length,
        "2147483647: vectors never pay."},
       {"rows", count_type(), &RowLengths::row_count},
       {"minimum", count_type(), &RowLengths::shortest},
       {"mean", seconds_type(), [](const auto& lengths) { return lengths.mean(); }},
       {"maximum", count_type(), &RowLengths::longest},
       {"rows_below", count_type(), &RowLengths::short_row_count, "Shorter than the critical vector length."},
       {"nonzeros_below", count_type(), &RowLengths::short_row_nonzero_count, "In those rows."}},
      "Nonzeros per row of whole blocks, before a kernel takes them; zeros where there are no rows."};
  return record;
}

const Record<RankRange>& rank_range_record() {
  static const Record<RankRange> record{"rank_range",
                                        {
                                            {"minimum", seconds_type(), &RankRange::minimum},
                                            {"maximum", seconds_type(), &RankRange::maximum},
                                        }};
  return record;
}

const Record<QuietResult>& quiet_record() {
  static const Record<QuietResult> record{
      "quiet_repeat",
      {{"disturbed", flag_type(), [](const auto& quiet) { return quiet.is_disturbed(); }},
       {"reasons", list_type(name_type()), &QuietResult::disturbances},
       part<QuietResult>("involuntary_switches", switches_record(), std::identity(),
                         "Of all ranks, and of the rank with most."),
       share("delay_share", &QuietResult::delay_share,
             "A thread was ready and waited for a processor, less 0.1 ms for each time that it got one."),
       share("steal_share", &QuietResult::steal_share, "The hypervisor ran another guest."),
       share("other_load", &QuietResult::other_load, "Processors of a node that other processes kept busy."),
       share("other_share", &QuietResult::other_share, "The same by the node's processors."),
       part<QuietResult>("loop_s", loop_record(), std::identity(),
                         "A fixed loop on every rank: the fastest and the slowest rank's."),
       {"loop_spread", seconds_type(), &QuietResult::loop_spread,
        "Slowest rank of a node by its fastest, minus 1."},
       {"loop_change", number_type(), &QuietResult::loop_change,
        "After by before, minus 1, of the rank where it differs most."}},
      "Shares are of the region's time, of the worst rank, processor or node; null: the system does not "
      "say."};
  return record;
}

const Record<SeenRank>& rank_block_record() {
  static const Record<SeenRank> record{
      "setup_rank",
      {{"nonzeros", count_type(), [](const auto& seen) { return seen.rank.nonzero_count; },
        "Of the whole block, whatever the kernel stores of it."},
       {"csr_bytes", or_null(count_type()),
        [](const auto& seen) { return seen.is_streamed ? Json(nullptr) : Json(seen.rank.csr_bytes); },
        "The whole block, as it was made; null where the matrix is streamed: no such block was made."},
       {"block_bytes", labelled(count_type(), "Block", "B"),
        [](const auto& seen) { return seen.rank.block_bytes; }, "In the format of the kernel."},
       {"peak_bytes", metric(count_type(), "Peak memory", "B"),
        [](const auto& seen) { return seen.rank.peak_bytes; }, "Largest resident memory of the process."}}};
  return record;
}

std::vector<SeenRank> seen_ranks(const SessionReport& report) {
  std::vector<SeenRank> seen;
  for (const auto& rank : report.ranks) seen.push_back({rank, report.is_streamed});
  return seen;
}

const Record<RaceVerdict>& race_verdict_record() {
  static const Record<RaceVerdict> record{
      "race_verdict",
      {
          {"candidate", name_type(), &RaceVerdict::candidate,
           "The one that the others beat least, by the median ratio of paired turns."},
          {"certainty", certainty_type(),
           [](const auto& verdict) { return certainty_name(verdict.certainty); }},
          {"text", line_type(), [](const auto& verdict) { return verdict.text(); },
           "For people; empty where it is alone."},
      }};
  return record;
}

const Record<ReachedSpeed>& reached_speed_record() {
  static const Record<ReachedSpeed> record{
      {{"grid", grid_type(), [](const auto& reached) { return reached.grid.name(); }},
       {"share", positive_seconds_type(), &ReachedSpeed::share}}};
  return record;
}

const Record<GridTrial>& grid_trial_record() {
  static const Record<GridTrial> record{
      "grid_trial",
      {{"shortlist_by", word_type({"model", "rule"}), &GridTrial::shortlist_by, "Who named the grids."},
       list_figure<GridTrial>("tried", timed_candidate_record<TimedCandidate>("grid"), &GridTrial::tried),
       verdict_figure<GridTrial>(),
       list_figure<GridTrial>(
           "reached", reached_speed_record(), [](const auto& trial) { return trial.by_speed.reached; },
           "With --cut speed: the speed of all ranks with the shares that suit the grid best, by the sum of "
           "their own."),
       {"duration_s", seconds_type(), &GridTrial::duration_s, "With the blocks that were made for it."},
       {"skipped_because", line_type(), &GridTrial::skipped_because, "Empty with a trial."}},
      "With --grid auto: the grids that were tried, the most promising first, with the time of a CG step."};
  return record;
}

const Record<TransportTrial>& transport_trial_record() {
  static const Record<TransportTrial> record{
      "transport_trial",
      {origin_figure<TransportTrial>(),
       list_figure<TransportTrial>("tried", timed_candidate_record<TimedCandidate>("transport"),
                                   &TransportTrial::tried, "", 1),
       list_figure<TransportTrial>("skipped", skipped_candidate_record<SkippedCandidate>("transport"),
                                   &TransportTrial::skipped, "Those that cannot serve here."),
       verdict_figure<TransportTrial>(),
       {"duration_s", seconds_type(), &TransportTrial::duration_s, "0 where nothing was measured."},
       kept_in_figure<TransportTrial>(),
       not_kept_figure<TransportTrial>()},
      "With --transport auto: the time of a CG step with each transport; the one that is taken first, then "
      "by time."};
  return record;
}

const Record<SpeedTrial>& speed_trial_record() {
  static const Record<SpeedTrial> record{
      "speed_trial",
      {origin_figure<SpeedTrial>(),
       {"ideal_nonzeros_per_s", positive_seconds_type(), &SpeedTrial::ideal, "Sum of the ranks' own speeds."},
       {"reachable_nonzeros_per_s", positive_seconds_type(), &SpeedTrial::reachable,
        "With these shares on this grid."},
       {"even_nonzeros_per_s", positive_seconds_type(), &SpeedTrial::even, "With even pieces on it."},
       {"speeds", list_type(positive_seconds_type()), &SpeedTrial::speeds,
        "Nonzeros per second of each rank, while all compute."},
       {"shares", list_type(positive_seconds_type()), &SpeedTrial::shares,
        "Of the nonzeros, for each piece."},
       {"rank_at", list_type(count_type()),
        [](const SpeedTrial& trial) { return trial.grid.ranks_by_place(); },
        "The rank at each place of the grid, along its process rows."},
       {"rounds", count_type(), &SpeedTrial::round_count,
        "Of measuring and cutting; 0 where nothing was measured."},
       {"duration_s", seconds_type(), &SpeedTrial::duration_s, "0 where nothing was measured."},
       kept_in_figure<SpeedTrial>(),
       not_kept_figure<SpeedTrial>()},
      "With --cut speed: what was measured, and what follows from it."};
  return record;
}

}  // namespace cg2d
