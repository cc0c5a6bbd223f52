#include "cg/report/session_record.hpp"

#include "cg/run/session_report.hpp"

namespace cg2d {
namespace {

const Record<QuietResult>& switches_record() {
  static const Record<QuietResult> record{{
      {"total", count_type(), &QuietResult::involuntary_switches},
      {"maximum", count_type(), &QuietResult::most_involuntary_switches},
  }};
  return record;
}

Json range_or_null(const std::optional<RankRange>& range) {
  return range ? json_of(rank_range_record(), *range) : Json(nullptr);
}

const Record<QuietResult>& runnable_record() {
  static const Record<QuietResult> record{{
      {"before", defined("range_or_null"),
       [](const auto& quiet) { return range_or_null(quiet.runnable_before); }},
      {"after", defined("range_or_null"),
       [](const auto& quiet) { return range_or_null(quiet.runnable_after); }},
  }};
  return record;
}

const Record<QuietResult>& loop_record() {
  static const Record<QuietResult> record{{
      {"before", defined("rank_range"),
       [](const auto& quiet) { return json_of(rank_range_record(), quiet.loop_before_s); }},
      {"after", defined("rank_range"),
       [](const auto& quiet) { return json_of(rank_range_record(), quiet.loop_after_s); }},
  }};
  return record;
}

/// A share that the system may not tell.
Figure<QuietResult> share(const std::string& name, std::optional<double> QuietResult::*member,
                          const std::string& meaning) {
  return {name, defined("share_or_null"),
          [member](const auto& quiet) { return value_or_null(quiet.*member); }, meaning};
}

}  // namespace

const Record<RowLengths>& row_length_record() {
  static const Record<RowLengths> record{
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
  static const Record<RankRange> record{{
      {"minimum", seconds_type(), &RankRange::minimum},
      {"maximum", seconds_type(), &RankRange::maximum},
  }};
  return record;
}

const Record<QuietResult>& quiet_record() {
  static const Record<QuietResult> record{
      {{"disturbed", flag_type(), [](const auto& quiet) { return quiet.is_disturbed(); }},
       {"reasons", list_type(name_type()), &QuietResult::disturbances},
       {"involuntary_switches", schema_of(switches_record()),
        [](const auto& quiet) { return json_of(switches_record(), quiet); },
        "Of all ranks, and of the rank with most."},
       share("delay_share", &QuietResult::delay_share,
             "A thread was ready and waited for a processor, less 0.1 ms for each time that it got one."),
       share("steal_share", &QuietResult::steal_share, "The hypervisor ran another guest."),
       share("other_load", &QuietResult::other_load, "Processors of a node that other processes kept busy."),
       share("other_share", &QuietResult::other_share, "The same by the node's processors."),
       share("pressure_share", &QuietResult::pressure_share,
             "Some task of the node waited for a processor, the ranks among them."),
       {"runnable", schema_of(runnable_record()),
        [](const auto& quiet) { return json_of(runnable_record(), quiet); },
        "Tasks of a node that ran or could run, the ranks among them."},
       {"loop_s", schema_of(loop_record()), [](const auto& quiet) { return json_of(loop_record(), quiet); },
        "A fixed loop on every rank: the fastest and the slowest rank's."},
       {"loop_spread", seconds_type(), &QuietResult::loop_spread,
        "Slowest rank of a node by its fastest, minus 1."},
       {"loop_change",
        {{"type", "number"}},
        &QuietResult::loop_change,
        "After by before, minus 1, of the rank where it differs most."}},
      "Shares are of the region's time, of the worst rank, processor or node; null: the system does not "
      "say."};
  return record;
}

Record<RankResult> rank_block_record(bool is_streamed) {
  return {{
      {"nonzeros", count_type(), &RankResult::nonzero_count,
       "Of the whole block, whatever the kernel stores of it."},
      {"csr_bytes", or_null(count_type()),
       [is_streamed](const auto& rank) { return is_streamed ? Json(nullptr) : Json(rank.csr_bytes); },
       "The whole block, as it was made; null where the matrix is streamed: no such block was made."},
      {"block_bytes", count_type(), &RankResult::block_bytes, "In the format of the kernel."},
      {"peak_bytes", count_type(), &RankResult::peak_bytes, "Largest resident memory of the process."},
  }};
}

const Record<RaceVerdict>& race_verdict_record() {
  static const Record<RaceVerdict> record{{
      {"candidate", name_type(), &RaceVerdict::candidate,
       "The one that the others beat least, by the median ratio of paired turns."},
      {"certainty", defined("certainty"),
       [](const auto& verdict) { return certainty_name(verdict.certainty); }},
      {"text", line_type(), [](const auto& verdict) { return verdict.text(); },
       "For people; empty where it is alone."},
  }};
  return record;
}

Json race_verdict_json(const RaceVerdict& verdict) {
  return verdict.candidate.empty() ? Json(nullptr) : json_of(race_verdict_record(), verdict);
}

FigureType race_verdict_type() {
  FigureType type{
      {"description", "How sure the choice of a trial is; null where nothing was measured in turns."}};
  type.update(or_null(schema_of(race_verdict_record())));
  return type;
}

const Record<GridTrial>& grid_trial_record() {
  static const auto timed_grid = timed_candidate_record<TimedCandidate>("grid");
  static const Record<GridTrial> record{
      {{"shortlist_by", word_type({"model", "rule"}), &GridTrial::shortlist_by, "Who named the grids."},
       {"tried", list_type(schema_of(timed_grid)),
        [](const auto& trial) { return json_of_all(timed_grid, trial.tried); }},
       verdict_figure<GridTrial>(),
       {"duration_s", seconds_type(), &GridTrial::duration_s, "With the blocks that were made for it."},
       {"skipped_because", line_type(), &GridTrial::skipped_because, "Empty with a trial."}},
      "With --grid auto: the grids that were tried, the most promising first, with the time of a CG step."};
  return record;
}

const Record<TransportTrial>& transport_trial_record() {
  static const auto timed_transport = timed_candidate_record<TimedCandidate>("transport");
  static const auto skipped_transport = skipped_candidate_record<SkippedCandidate>("transport");
  static const Record<TransportTrial> record{
      {{"from", word_type({"measurement", "profile"}),
        [](const auto& trial) { return trial.from_profile ? "profile" : "measurement"; },
        "Whether it was measured now, or is known from an earlier run."},
       {"tried", list_type(schema_of(timed_transport), 1),
        [](const auto& trial) { return json_of_all(timed_transport, trial.tried); }},
       {"skipped", list_type(schema_of(skipped_transport)),
        [](const auto& trial) { return json_of_all(skipped_transport, trial.skipped); },
        "Those that cannot serve here."},
       verdict_figure<TransportTrial>(),
       {"duration_s", seconds_type(), &TransportTrial::duration_s, "0 where nothing was measured."},
       {"kept_in", or_null(name_type()),
        [](const auto& trial) { return trial.kept_in.empty() ? Json(nullptr) : Json(trial.kept_in); },
        "The tuning profile; null: none."},
       {"not_kept_because", line_type(), &TransportTrial::not_kept_because, "Empty where kept."}},
      "With --transport auto: the time of a CG step with each transport; the one that is taken first, then "
      "by time."};
  return record;
}

}  // namespace cg2d
