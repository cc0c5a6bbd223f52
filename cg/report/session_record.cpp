#include "cg/report/session_record.hpp"

#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {
namespace {

const Record<RankStream>& rank_stream_record() {
  static const Record<RankStream> record{{
      {"file_bytes", count_type(), &RankStream::file_bytes, "All panels."},
      {"panels", positive_count_type(), &RankStream::panel_count},
      {"most_panel_bytes", count_type(), &RankStream::most_panel_bytes},
      {"resident_panels", count_type(), [](const auto& rank) { return rank.memory.resident_count; },
       "These stay in memory."},
      {"buffers", count_type(), [](const auto& rank) { return rank.memory.buffer_count; },
       "Of one panel each."},
      {"reused", flag_type(), &RankStream::was_there, "The files of an earlier run were taken."},
      {"direct", flag_type(), &RankStream::is_direct, "Read past the cache of the system (O_DIRECT)."},
      {"products", count_type(), [](const auto& rank) { return rank.figures.product_count; },
       "Those outside of the timed region included."},
      {"read_bytes", count_type(), [](const auto& rank) { return rank.figures.byte_count; },
       "By all of these products."},
      {"wait_s", seconds_type(), [](const auto& rank) { return rank.figures.wait_s; },
       "Products waited for the storage."},
      {"check_s", seconds_type(), [](const auto& rank) { return rank.figures.check_s; },
       "Checksums of what was read."},
      {"product_s", seconds_type(), [](const auto& rank) { return rank.figures.product_s; },
       "All of these products, waiting and checking included."},
      {"storage_bytes_per_s", seconds_type(), &RankStream::storage_bytes_per_s,
       "Reading alone, while all ranks did so; 0 where nothing was streamed."},
  }};
  return record;
}

const Record<TriedGrid>& tried_grid_record() {
  static const Record<TriedGrid> record{{
      {"grid", name_type(), [](const auto& one) { return one.grid.name(); }},
      {"step_s", positive_seconds_type(), &TriedGrid::step_s},
  }};
  return record;
}

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

const Record<CheckpointFacts>& checkpoint_record() {
  static const Record<CheckpointFacts> record{{
      {"folder", name_type(), &CheckpointFacts::folder},
      {"count", count_type(), &CheckpointFacts::count, "Written by this run."},
      {"total_s", seconds_type(), &CheckpointFacts::total_s, "They took that long, as a part of the time."},
      {"write_s", seconds_type(), &CheckpointFacts::write_s,
       "The last one took that long; before the first one, a rehearsal."},
      {"interval_s", seconds_type(), &CheckpointFacts::interval_s},
      {"interval_by", word_type({"Young", "option"}),
       [](const auto& facts) { return facts.is_automatic ? "Young" : "option"; },
       "Young: sqrt(2 write_s assumed_failure_interval_s)."},
      {"assumed_failure_interval_s", or_null(positive_seconds_type()),
       [](const auto& facts) {
         return facts.is_automatic ? Json(assumed_failure_interval_s) : Json(nullptr);
       },
       "Mean time between failures; null where the option names the interval."},
      {"failure", line_type(), &CheckpointFacts::failure,
       "Why the last one could not be written; empty where it could."},
  }};
  return record;
}

const Record<FoundCheckpoint>& found_checkpoint_record() {
  static const Record<FoundCheckpoint> record{{
      {"folder", name_type(), &FoundCheckpoint::folder},
      {"generation", positive_count_type(), &FoundCheckpoint::generation},
      {"rejected", list_type(name_type()), &FoundCheckpoint::rejected,
       "Why each newer checkpoint was not taken, newest first."},
  }};
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

const Record<OutOfCoreFacts>& out_of_core_record() {
  static const Record<OutOfCoreFacts> record{{
      {"folders", list_type(name_type(), 1), &OutOfCoreFacts::folders},
      {"reader", name_type(), &OutOfCoreFacts::reader},
      {"memory_limit_bytes", or_null(positive_count_type()),
       [](const auto& facts) {
         return facts.memory_limit_bytes > 0 ? Json(facts.memory_limit_bytes) : Json(nullptr);
       },
       "--memory-limit, of a node; null: none was given. Missing in results of earlier programs.",
       Presence::always},
      {"write_s", seconds_type(), &OutOfCoreFacts::write_s,
       "The matrix was generated and written in that time; 0: the files were there."},
      {"device_write_s", seconds_type(), &OutOfCoreFacts::device_write_s,
       "Of that, writing and waiting for the device, of the slowest rank. Missing in results of earlier "
       "programs.",
       Presence::always_now},
      {"unbound_memory_limit_bytes", count_type(),
       [](const auto& facts) { return limits_of(facts).unbound_bytes; },
       "By the rates of the run: with --memory-limit from here on reading takes no longer than multiplying. "
       "0 where nothing was streamed."},
      {"in_core_memory_limit_bytes", count_type(),
       [](const auto& facts) { return limits_of(facts).in_core_bytes; },
       "With --memory-limit from here on nothing is streamed. 0 where nothing was streamed."},
      {"ranks", list_type(numbered_schema_of("rank", rank_stream_record()), 1),
       [](const auto& facts) { return numbered_json_of_all("rank", rank_stream_record(), facts.ranks); }},
  }};
  return record;
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
  static const Record<GridTrial> record{
      {{"shortlist_by", word_type({"model", "rule"}), &GridTrial::shortlist_by, "Who named the grids."},
       {"tried", list_type(schema_of(tried_grid_record())),
        [](const auto& trial) { return json_of_all(tried_grid_record(), trial.tried); }},
       verdict_figure<GridTrial>(),
       {"duration_s", seconds_type(), &GridTrial::duration_s, "With the blocks that were made for it."},
       {"skipped_because", line_type(), &GridTrial::skipped_because, "Empty with a trial."}},
      "With --grid auto: the grids that were tried, the most promising first, with the time of a CG step."};
  return record;
}

const Record<TransportTrial>& transport_trial_record() {
  static const auto timed_transport = timed_candidate_record<TimedTransport>("transport");
  static const auto skipped_transport = skipped_candidate_record<SkippedTransport>("transport");
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
