// The explanation as JSON.

#include "cg/base/describe.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {

void describe(Members& m, comm::IndexRange& range) {
  m("begin", range.begin, at_least(0));
  m("end", range.end, at_least(0));
}

void describe(Members& m, comm::Traffic& sent) {
  m("messages", sent.message_count, at_least(0));
  m("bytes", sent.byte_count, at_least(0));
}

namespace {

constexpr std::string_view of_vector = "p, q, or p.q: a scalar.";

void describe_rank(Members& m, const comm::BlockLayout& layout, int rank) {
  const auto row = layout.grid().row_of(rank);
  const auto column = layout.grid().column_of(rank);
  m.derived("rank", rank, at_least(0));
  m.derived("process_row", row, at_least(0));
  m.derived("process_column", column, at_least(0));
  m.derived("rows", layout.row_block(row), meaning("Half-open."));
  m.derived("columns", layout.column_block(column), meaning("Half-open."));
  m.derived("row_piece", layout.row_piece_of(rank), at_least(0));
  m.derived("column_piece", layout.column_piece_of(rank), at_least(0));
}

constexpr Note of_held{.meaning = "The pieces that each rank holds, by rank; empty pieces are left out.",
                       .fewest = 1};

}  // namespace

void describe(Members& m, ExplainedMessage& message) {
  m("from", message.sender, at_least(0));
  m("to", message.receiver, at_least(0));
  m.derived("vector", message.vector, meaning(of_vector));
  m("pieces", message.pieces, {.least = 0, .fewest = 1});
  m("bytes", message.byte_count, at_least(1));
  m("added", message.is_added, meaning("The receiver adds the pieces to its own partial sums."));
}

void describe(Members& m, HeldPiece& piece) {
  m.derived("vector", piece.vector, meaning(of_vector));
  m("piece", piece.number, at_least(0));
  m("summed_ranks", piece.summed_ranks,
    at_least(0, "The number of partial sums that it adds up, of of_ranks; both are 0 where it is no sum."));
  m("of_ranks", piece.rank_count, at_least(0));
}

void describe(Members& m, ExchangeRound& round) {
  m("messages", round.messages, {.fewest = 1});
  m("after", round.held_after, of_held);
}

void describe(Members& m, ExplainedStep& step) {
  std::vector<std::vector<int>> groups;
  for (const auto& group : step.groups) groups.push_back(group.ranks);
  m.derived("name", step.name);
  m.derived("purpose", step.purpose);
  m("times", step.times, at_least(1, "In one CG step."));
  m.derived("groups", groups, {.meaning = "Ranks that exchange among themselves.", .fewest = 1});
  m("before", step.held_before, of_held);
  m("rounds", step.rounds, meaning("Of one time: messages that can travel together."));
  m("after", step.held_after, of_held);
  m.derived("sent_by_rank_per_cg_step", step.sent_by_rank(), {.fewest = 1});
}

void describe(Members& m, ExplainedTraffic& traffic) {
  m("rounds", traffic.round_count, at_least(0));
  m("busiest_rank", traffic.busiest_rank, at_least(0));
  m("busiest", traffic.busiest);
  m("all_ranks", traffic.all_ranks);
}

void describe(Members& m, GridCost& cost) {
  describe(m, cost.traffic);
  describe_name(m, "grid", cost.grid);
  m("choice_of_rule", cost.is_choice_of_rule, meaning("cg2d run --grid rule takes this one."));
}

void describe(Members& m, Explanation& explained) {
  const auto& layout = explained.layout;
  std::vector<comm::IndexRange> pieces;
  for (int number = 0; number < layout.grid().rank_count(); ++number) pieces.push_back(layout.piece(number));
  m.constant("schema_version", 1);
  m("class", explained.problem.class_name, not_empty());
  m.derived("n", layout.size(), at_least(1));
  m.derived("grid", layout.grid().name());
  m.derived("sum_form", sum_form_name(explained.configuration.sum_form));
  m.derived("kernel", planned_kernel(explained.configuration).name);
  m("symmetric_storage", explained.is_mirrored);
  m("pieces", pieces, {.meaning = "The cut of all vectors.", .fewest = 1});
  m.list("ranks", pieces, {.fewest = 1}, [&](const auto& /*piece*/, std::size_t number) {
    describe_rank(m, layout, static_cast<int>(number));
  });
  m("steps", explained.steps, {.fewest = 1});
  m.derived("per_cg_step", traffic_of(explained.steps));
  m("grids", explained.grids, meaning("Every grid of as many ranks; empty where --step names one step."));
}

void visit_explanation(Members& m) {
  auto explained = explain_step(*find_class("S"), {.grid = {.columns = 1, .rows = 1}}, "all");
  m.visit(explained);
}

std::string explanation_json(const Explanation& explained) { return document_text(explained); }

}  // namespace cg2d
