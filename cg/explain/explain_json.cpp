// The explanation as JSON.

#include "cg/base/describe.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

void describe_range(Members& m, std::string_view name, comm::IndexRange range) {
  m.object(name, meaning("Half-open."), [&] {
    m("begin", range.begin, at_least(0));
    m("end", range.end, at_least(0));
  });
}

void describe_sent(Members& m, comm::Traffic& sent) {
  m("messages", sent.message_count, at_least(0));
  m("bytes", sent.byte_count, at_least(0));
}

constexpr std::string_view of_vector = "p, q, or p.q: a scalar.";

void describe_rank(Members& m, const comm::BlockLayout& layout, int rank) {
  const auto row = layout.grid().row_of(rank);
  const auto column = layout.grid().column_of(rank);
  m.derived("rank", rank, at_least(0));
  m.derived("process_row", row, at_least(0));
  m.derived("process_column", column, at_least(0));
  describe_range(m, "rows", layout.row_block(row));
  describe_range(m, "columns", layout.column_block(column));
  m.derived("row_piece", layout.row_piece_of(rank), at_least(0));
  m.derived("column_piece", layout.column_piece_of(rank), at_least(0));
}

constexpr Note of_held{.meaning = "The pieces that each rank holds, by rank; empty pieces are left out.",
                       .fewest = 1};

void describe_traffic(Members& m, ExplainedTraffic& traffic) {
  const auto sent = [&](std::string_view name, comm::Traffic& of) {
    m.object(name, [&] { describe_sent(m, of); });
  };
  m("rounds", traffic.round_count, at_least(0));
  m("busiest_rank", traffic.busiest_rank, at_least(0));
  sent("busiest", traffic.busiest);
  sent("all_ranks", traffic.all_ranks);
}

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
  auto sent_by_rank = step.sent_by_rank();
  std::vector<std::vector<int>> groups;
  for (const auto& group : step.groups) groups.push_back(group.ranks);
  m.derived("name", step.name);
  m.derived("purpose", step.purpose);
  m("times", step.times, at_least(1, "In one CG step."));
  m.derived("groups", groups, {.meaning = "Ranks that exchange among themselves.", .fewest = 1});
  m("before", step.held_before, of_held);
  m("rounds", step.rounds, meaning("Of one time: messages that can travel together."));
  m("after", step.held_after, of_held);
  m.list("sent_by_rank_per_cg_step", sent_by_rank, {.fewest = 1},
         [&](comm::Traffic& sent, std::size_t /*index*/) { describe_sent(m, sent); });
}

void describe(Members& m, GridCost& cost) {
  describe_traffic(m, cost.traffic);
  describe_name(m, "grid", cost.grid);
  m("choice_of_rule", cost.is_choice_of_rule, meaning("cg2d run --grid rule takes this one."));
}

void describe(Members& m, Explanation& explained) {
  const auto& layout = explained.layout;
  std::vector<int> numbers(static_cast<std::size_t>(layout.grid().rank_count()));
  m.constant("schema_version", 1);
  m("class", explained.problem.class_name, not_empty());
  m.derived("n", layout.size(), at_least(1));
  m.derived("grid", layout.grid().name());
  m.derived("sum_form", sum_form_name(explained.configuration.sum_form));
  m.derived("kernel", planned_kernel(explained.configuration).name);
  m("symmetric_storage", explained.is_mirrored);
  m.list("pieces", numbers, {.meaning = "The cut of all vectors.", .fewest = 1},
         [&](int /*piece*/, std::size_t number) {
           const auto range = layout.piece(static_cast<int>(number));
           m.derived("begin", range.begin, at_least(0));
           m.derived("end", range.end, at_least(0));
         });
  m.list("ranks", numbers, {.fewest = 1},
         [&](int /*rank*/, std::size_t number) { describe_rank(m, layout, static_cast<int>(number)); });
  m("steps", explained.steps, {.fewest = 1});
  m.object("per_cg_step", [&] {
    auto traffic = traffic_of(explained.steps);
    describe_traffic(m, traffic);
  });
  m("grids", explained.grids, meaning("Every grid of as many ranks; empty where --step names one step."));
}

void visit_explanation(Members& m) {
  auto explained = explain_step(*find_class("S"), {.grid = {.columns = 1, .rows = 1}}, "all");
  m.visit(explained);
}

std::string explanation_json(const Explanation& explained) { return document_text(explained); }

}  // namespace cg2d
