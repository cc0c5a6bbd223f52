// The explanation as text for a terminal.

#include "cg/base/table.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

/// The blocks and pieces of the first ranks.
std::string block_table(const comm::BlockLayout& layout, int rank_count) {
  const auto text_of = [](const comm::IndexRange& range) {
    return range.size() == 0 ? "none" : fmt::format("{}-{}", range.begin, range.end - 1);
  };
  const auto grid = layout.grid();
  Table table;
  for (int rank = 0; rank < rank_count; ++rank) {
    table.line()
        .word("block", fmt::format("rank {}", rank))
        .number("process column", "{}", grid.column_of(rank));
    table.number("process row", "{}", grid.row_of(rank)).word("columns", text_of(layout.columns_of(rank)));
    table.word("rows", text_of(layout.rows_of(rank)));
    table.word("owns", fmt::format("p{} q{}", layout.column_piece_of(rank), layout.row_piece_of(rank)));
  }
  return table.text("   ");
}

std::string message_table(const ExplainedStep& step) {
  Table table;
  for (size_t round = 0; round < step.rounds.size(); ++round) {
    for (const auto& message : step.rounds[round].messages) {
      table.line().number("round", "{}", round + 1).word("from", fmt::format("rank {}", message.sender));
      table.word("to", fmt::format("-> rank {}", message.receiver))
          .word("pieces", pieces_text(message.vector, message.pieces));
      table.number("bytes", "{}", message.byte_count).word("", message.is_added ? "added" : "");
    }
  }
  return table.is_empty() ? "" : table.text("   ");
}

std::string held_by_ranks(const ExplainedStep& step) {
  Table table;
  for (const auto& group : step.groups) {
    for (const int rank : group.ranks) {
      table.line();
      if (!group.name.empty()) table.word("group", group.name);
      table.word("holds", fmt::format("rank {}", rank));
      for (const auto& [name, held] : step.states()) table.word(name, held_text((*held)[index_of(rank)]));
    }
  }
  return table.text("   ");
}

/// Larger grids are summed up: every message of 16x16 ranks is 5 000 lines.
constexpr int most_drawn_ranks = 16;

std::string grids_text(const Explanation& explained) {
  Table table;
  for (const auto& cost : explained.grids) {
    table.line().word("grid", cost.grid.name()).number("rounds", "{}", cost.traffic.round_count);
    for (const auto& [who, sent] :
         {std::pair("busiest rank", cost.traffic.busiest), {"all ranks", cost.traffic.all_ranks}}) {
      table.number(fmt::format("{}: messages", who), "{}", sent.message_count);
      table.number(fmt::format("{}: bytes", who), "{}", sent.byte_count);
    }
    std::string mark = cost.grid == explained.layout.grid() ? "shown above" : "";
    if (cost.is_choice_of_rule) mark += mark.empty() ? "--grid rule takes it" : "; --grid rule takes it";
    table.word("", mark);
  }
  return fmt::format("\n All grids of {}, per CG step\n",
                     format_count(explained.layout.grid().rank_count(), "rank")) +
         table.text("   ") +
         fmt::format("    --grid rule takes the least bytes, a message counted as {} more.\n",
                     start_up_bytes);
}

}  // namespace

std::string explanation_text(const Explanation& explained) {
  const auto& layout = explained.layout;
  const bool has_all_steps = !explained.grids.empty();
  const bool is_summary = has_all_steps && layout.grid().rank_count() > most_drawn_ranks;
  std::string text = fmt::format(" {}\n {}\n", title_of(explained), subtitle_of(explained));
  text += " pK, qK: piece K of p and q; (1 of 2): a partial sum, over 1 of 2 ranks\n\n" +
          block_table(layout, is_summary ? 1 : layout.grid().rank_count());
  int number = 0;
  for (const auto& step : explained.steps) {
    text += fmt::format("\n {}\n    {}\n", heading_of(step, ++number), step.purpose);
    if (!is_summary) text += held_by_ranks(step) + message_table(step);
    text += fmt::format("    {}\n", sent_text(step));
  }
  if (is_summary) text += "\n Each message of a step: --step, such as --step shuffle\n";
  return has_all_steps ? text + grids_text(explained) : text;
}

}  // namespace cg2d
