// The explanation as JSON.

#include "cg/base/json_record.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

FigureType vector_type() {
  return named_type("vector", with(word_type({"p", "q", "p.q"}), "description", "p.q: a scalar."));
}

const Record<comm::IndexRange>& range_record() {
  static const Record<comm::IndexRange> record{
      "range",
      {{"begin", count_type(), &comm::IndexRange::begin}, {"end", count_type(), &comm::IndexRange::end}},
      "Half-open."};
  return record;
}

const Record<comm::Traffic>& sent_record() {
  static const Record<comm::Traffic> record{"sent",
                                            {{"messages", count_type(), &comm::Traffic::message_count},
                                             {"bytes", count_type(), &comm::Traffic::byte_count}}};
  return record;
}

const Record<ExplainedTraffic>& traffic_record() {
  static const Record<ExplainedTraffic> record{
      "traffic",
      {{"rounds", count_type(), &ExplainedTraffic::round_count},
       {"busiest_rank", count_type(), &ExplainedTraffic::busiest_rank},
       part<ExplainedTraffic>("busiest", sent_record(), &ExplainedTraffic::busiest),
       part<ExplainedTraffic>("all_ranks", sent_record(), &ExplainedTraffic::all_ranks)},
      "Of all steps shown, each as often as one CG step has it."};
  return record;
}

const Record<HeldPiece>& piece_record() {
  static const Record<HeldPiece> record{{{"vector", vector_type(), &HeldPiece::vector},
                                         {"piece", count_type(), &HeldPiece::number},
                                         {"summed_ranks", count_type(), &HeldPiece::summed_ranks},
                                         {"of_ranks", count_type(), &HeldPiece::rank_count}},
                                        "summed_ranks: the number of partial sums that it adds up, of "
                                        "of_ranks; both are 0 where it is no sum."};
  return record;
}

/// The pieces that each rank holds, by rank.
template <typename Source>
Figure<Source> held_figure(const std::string& name, AllPieces Source::*held) {
  const auto type =
      named_type("held", with(list_type(list_type(type_of(piece_record())), 1), "description",
                              "The pieces that each rank holds, by rank; empty pieces are left out."));
  return {name, type, [held](const Source& source) {
            Json ranks = Json::array();
            for (const auto& pieces : source.*held) ranks.push_back(json_of_all(piece_record(), pieces));
            return ranks;
          }};
}

const Record<ExplainedMessage>& message_record() {
  static const Record<ExplainedMessage> record{
      "message",
      {{"from", count_type(), &ExplainedMessage::sender},
       {"to", count_type(), &ExplainedMessage::receiver},
       {"vector", vector_type(), &ExplainedMessage::vector},
       {"pieces", list_type(count_type(), 1), &ExplainedMessage::pieces},
       {"bytes", positive_count_type(), &ExplainedMessage::byte_count},
       {"added", flag_type(), &ExplainedMessage::is_added,
        "The receiver adds the pieces to its own partial sums."}}};
  return record;
}

const Record<ExchangeRound>& round_record() {
  static const Record<ExchangeRound> record{
      "round",
      {list_figure<ExchangeRound>("messages", message_record(), &ExchangeRound::messages, "", 1),
       held_figure("after", &ExchangeRound::held_after)}};
  return record;
}

const Record<ExplainedStep>& step_record() {
  static const Record<ExplainedStep> record{
      "step",
      {{"name", word_type(explained_step_names()), &ExplainedStep::name},
       {"purpose", text_type(), &ExplainedStep::purpose},
       {"times", positive_count_type(), &ExplainedStep::times, "In one CG step."},
       {"groups", list_type(list_type(count_type(), 1), 1),
        [](const auto& step) {
          Json groups = Json::array();
          for (const auto& group : step.groups) groups.push_back(group.ranks);
          return groups;
        },
        "Ranks that exchange among themselves."},
       held_figure("before", &ExplainedStep::held_before),
       list_figure<ExplainedStep>("rounds", round_record(), &ExplainedStep::rounds,
                                  "Of one time: messages that can travel together."),
       held_figure("after", &ExplainedStep::held_after),
       list_figure<ExplainedStep>("sent_by_rank_per_cg_step", sent_record(), &ExplainedStep::sent_by_rank, "",
                                  1)}};
  return record;
}

/// A rank's place in the layout.
struct SeenRank {
  const comm::BlockLayout& layout;
  int rank = 0;
};

const Record<SeenRank>& rank_record() {
  static const Record<SeenRank> record{
      "rank",
      {{"rank", count_type(), &SeenRank::rank},
       {"process_row", count_type(), [](const auto& seen) { return seen.layout.grid().row_of(seen.rank); }},
       {"process_column", count_type(),
        [](const auto& seen) { return seen.layout.grid().column_of(seen.rank); }},
       part<SeenRank>(
           "rows", range_record(),
           [](const auto& seen) { return seen.layout.row_block(seen.layout.grid().row_of(seen.rank)); }),
       part<SeenRank>("columns", range_record(),
                      [](const auto& seen) {
                        return seen.layout.column_block(seen.layout.grid().column_of(seen.rank));
                      }),
       {"row_piece", count_type(), [](const auto& seen) { return seen.layout.row_piece_of(seen.rank); }},
       {"column_piece", count_type(),
        [](const auto& seen) { return seen.layout.column_piece_of(seen.rank); }}}};
  return record;
}

std::vector<SeenRank> ranks_of(const Explanation& explained) {
  std::vector<SeenRank> ranks;
  for (int rank = 0; rank < explained.layout.grid().rank_count(); ++rank)
    ranks.push_back({explained.layout, rank});
  return ranks;
}

std::vector<comm::IndexRange> pieces_of(const Explanation& explained) {
  std::vector<comm::IndexRange> pieces;
  for (int number = 0; number < explained.layout.grid().rank_count(); ++number)
    pieces.push_back(explained.layout.piece(number));
  return pieces;
}

const Record<GridCost>& grid_cost_record() {
  static const auto record =
      with(Record<GridCost>(figures_of_part<GridCost>(traffic_record(), &GridCost::traffic)),
           {{"grid", grid_type(), [](const auto& cost) { return cost.grid.name(); }},
            {"choice_of_rule", flag_type(), &GridCost::is_choice_of_rule,
             "cg2d run --grid rule takes this one."}});
  return record;
}

const Record<Explanation>& explanation_record() {
  static const Record<Explanation> record{
      {{"schema_version", constant_type(1), [](const auto& /*explained*/) { return 1; }},
       {"class", class_type(), [](const auto& explained) { return explained.problem.class_name; }},
       {"n", positive_count_type(), [](const auto& explained) { return explained.layout.size(); }},
       {"grid", grid_type(), [](const auto& explained) { return explained.layout.grid().name(); }},
       {"sum_form", word_type({"reduce-scatter", "whole-block"}),
        [](const auto& explained) { return sum_form_name(explained.configuration.sum_form); }},
       {"kernel", name_type(),
        [](const auto& explained) { return planned_kernel(explained.configuration).name; }},
       {"symmetric_storage", flag_type(), &Explanation::is_mirrored},
       list_figure<Explanation>("pieces", range_record(), pieces_of, "The cut of all vectors.", 1),
       list_figure<Explanation>("ranks", rank_record(), ranks_of, "", 1),
       list_figure<Explanation>("steps", step_record(), &Explanation::steps, "", 1),
       part<Explanation>("per_cg_step", traffic_record(),
                         [](const auto& explained) { return traffic_of(explained.steps); }),
       list_figure<Explanation>("grids", grid_cost_record(), &Explanation::grids,
                                "Every grid of as many ranks; empty where --step names one step.")},
      "One CG step on a grid of ranks, from the schedules of the messages. Pieces and ranks are counted from "
      "0."};
  return record;
}

}  // namespace

FigureType explanation_type() { return type_of(explanation_record()); }

std::string explanation_json(const Explanation& explained) {
  return json_text(json_of(explanation_record(), explained), 1) + "\n";
}

}  // namespace cg2d
