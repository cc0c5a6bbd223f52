// The explanation as JSON: explain_result.schema.json.

#include <cstddef>
#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

Json json_of(const comm::IndexRange& range) { return {{"begin", range.begin}, {"end", range.end}}; }

Json json_of(const comm::Traffic& traffic) {
  return {{"messages", traffic.message_count}, {"bytes", traffic.byte_count}};
}

Json json_of(const ExplainedTraffic& traffic) {
  return {{"rounds", traffic.round_count},
          {"busiest_rank", traffic.busiest_rank},
          {"busiest", json_of(traffic.busiest)},
          {"all_ranks", json_of(traffic.all_ranks)}};
}

/// The pieces that each rank holds, by rank.
Json json_of(const AllPieces& held) {
  Json ranks = Json::array();
  for (const auto& of_rank : held) {
    Json pieces = Json::array();
    for (const auto& piece : of_rank)
      pieces.push_back({{"vector", piece.vector},
                        {"piece", piece.number},
                        {"summed_ranks", piece.summed_ranks},
                        {"of_ranks", piece.rank_count}});
    ranks.push_back(std::move(pieces));
  }
  return ranks;
}

Json json_of(const ExchangeRound& round) {
  Json messages = Json::array();
  for (const auto& message : round.messages) {
    messages.push_back({{"from", message.sender},
                        {"to", message.receiver},
                        {"vector", message.vector},
                        {"pieces", message.pieces},
                        {"bytes", message.byte_count},
                        {"added", message.is_added}});
  }
  return {{"messages", messages}, {"after", json_of(round.held_after)}};
}

Json json_of(const ExplainedStep& step) {
  Json groups = Json::array();
  for (const auto& group : step.groups) groups.push_back(group.ranks);
  Json rounds = Json::array();
  for (const auto& round : step.rounds) rounds.push_back(json_of(round));
  Json sent = Json::array();
  for (const auto& traffic : step.sent_by_rank()) sent.push_back(json_of(traffic));
  return {{"name", step.name},
          {"purpose", step.purpose},
          {"times", step.times},
          {"groups", groups},
          {"before", json_of(step.held_before)},
          {"rounds", rounds},
          {"after", json_of(step.held_after)},
          {"sent_by_rank_per_cg_step", sent}};
}

Json blocks_of_ranks(const comm::BlockLayout& layout) {
  Json ranks = Json::array();
  const auto grid = layout.grid();
  for (int rank = 0; rank < grid.rank_count(); ++rank) {
    ranks.push_back({{"rank", rank},
                     {"process_row", grid.row_of(rank)},
                     {"process_column", grid.column_of(rank)},
                     {"rows", json_of(layout.row_block(grid.row_of(rank)))},
                     {"columns", json_of(layout.column_block(grid.column_of(rank)))},
                     {"row_piece", layout.row_piece_of(rank)},
                     {"column_piece", layout.column_piece_of(rank)}});
  }
  return ranks;
}

}  // namespace

std::string explanation_json(const Explanation& explained) {
  Json pieces = Json::array();
  for (int number = 0; number < explained.layout.grid().rank_count(); ++number)
    pieces.push_back(json_of(explained.layout.piece(number)));
  Json steps = Json::array();
  for (const auto& step : explained.steps) steps.push_back(json_of(step));
  Json grids = Json::array();
  for (const auto& cost : explained.grids) {
    auto grid = json_of(cost.traffic);
    grid["grid"] = cost.grid.name();
    grid["choice_of_rule"] = cost.is_choice_of_rule;
    grids.push_back(std::move(grid));
  }
  const Json json{{"schema_version", 1},
                  {"class", explained.problem.class_name},
                  {"n", explained.layout.size()},
                  {"grid", explained.layout.grid().name()},
                  {"sum_form", sum_form_name(explained.configuration.sum_form)},
                  {"kernel", planned_kernel(explained.configuration).name},
                  {"symmetric_storage", explained.is_mirrored},
                  {"pieces", pieces},
                  {"ranks", blocks_of_ranks(explained.layout)},
                  {"steps", steps},
                  {"per_cg_step", json_of(traffic_of(explained.steps))},
                  {"grids", grids}};
  return json_text(json, 1) + "\n";
}

}  // namespace cg2d
