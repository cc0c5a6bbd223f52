// The pictures of an explanation: text for a terminal, and SVG.

#include "cg/base/table.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

constexpr std::string_view legend = "pK, qK: piece K of p and q; (1 of 2): a partial sum, over 1 of 2 ranks";

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

// Pixels.
constexpr double margin = 24;
constexpr double lane_height = 34;
constexpr double lane_name_width = 80;
constexpr double character_width = 6.7;  // of the font for data, 11 px, with some room

constexpr std::string_view style = R"(
    svg { --page: #ffffff; --ink: #1a1a1a; --soft: #555555; --arrow: #1f4e79; }
    @media (prefers-color-scheme: dark) {
      svg { --page: #16191d; --ink: #eeeeee; --soft: #b5b5b5; --arrow: #8cc4ee; }
    }
    .page { fill: var(--page); }
    text { fill: var(--ink); font: 13px system-ui, "Liberation Sans", Arial, sans-serif; }
    .title { font-size: 19px; font-weight: 600; }
    .head { font-size: 16px; font-weight: 600; }
    .soft { fill: var(--soft); }
    .data { font: 11px ui-monospace, "Liberation Mono", monospace; }
    .message { paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
    .arrow { stroke: var(--arrow); stroke-width: 1.4; fill: none; marker-end: url(#tip); }
    .tip { fill: var(--arrow); }
)";

/// The drawing so far. Every part is put below the one before it.
struct Drawing {
  std::string body;
  double width = 0;
  double bottom = margin;

  void text(double x, double y, std::string_view kind, std::string_view words) {
    body += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, kind, words);
    const double of_character = kind == "title" ? 10.5 : kind == "head" ? 9.0 : 7.2;
    width = std::max(width, x + of_character * static_cast<double>(words.size()) + margin);
  }
  /// A line of text, so far below the last part.
  void line(double distance, std::string_view kind, std::string_view words) {
    bottom += distance;
    text(margin, bottom, kind, words);
  }
};

std::string label_of(const ExplainedMessage& message) {
  return fmt::format("{}{}, {}", message.is_added ? "+" : "", pieces_text(message.vector, message.pieces),
                     format_bytes(message.byte_count));
}

/// A lane for each rank: what it holds in each state of the step, and between the states its messages.
void draw_step(Drawing& drawing, const ExplainedStep& step, int number) {
  drawing.line(46, "head", heading_of(step, number));
  drawing.line(20, "", step.purpose);
  drawing.line(18, "soft", sent_text(step));
  const auto states = step.states();
  size_t longest_held = 14;
  size_t longest_label = 8;
  for (const auto& state : states) {
    for (const auto& pieces : *state.held) longest_held = std::max(longest_held, held_text(pieces).size());
  }
  for (const auto& round : step.rounds) {
    for (const auto& message : round.messages)
      longest_label = std::max(longest_label, label_of(message).size());
  }
  const double state_width = character_width * static_cast<double>(longest_held) + 8;
  const double gap_width = character_width * static_cast<double>(longest_label) + 70;
  const auto state_left = [&](size_t state) {
    return margin + lane_name_width + static_cast<double>(state) * (state_width + gap_width);
  };
  drawing.bottom += 26;
  for (size_t state = 0; state < states.size(); ++state) {
    drawing.text(state_left(state), drawing.bottom, "soft", states[state].name);
    if (state < step.rounds.size())
      drawing.text(state_left(state) + state_width, drawing.bottom, "soft",
                   fmt::format("round {}", state + 1));
  }
  std::vector<double> lanes(step.held_before.size());
  for (const auto& group : step.groups) {
    if (!group.name.empty()) drawing.line(24, "soft", group.name);
    for (const int rank : group.ranks) {
      drawing.line(lane_height, "", fmt::format("rank {}", rank));
      lanes[index_of(rank)] = drawing.bottom - 4;
      for (size_t state = 0; state < states.size(); ++state)
        drawing.text(state_left(state), drawing.bottom, "data",
                     held_text((*states[state].held)[index_of(rank)]));
    }
  }
  for (size_t round = 0; round < step.rounds.size(); ++round) {
    const double left = state_left(round) + state_width;
    for (const auto& message : step.rounds[round].messages) {
      const double from = lanes[index_of(message.sender)];
      drawing.body += fmt::format(
          "<g><title>rank {} sends {} to rank {}, {} bytes{}</title>\n"
          "<path d=\"M {:.1f} {:.1f} H {:.1f} L {:.1f} {:.1f}\" class=\"arrow\"/></g>\n",
          message.sender, pieces_text(message.vector, message.pieces), message.receiver, message.byte_count,
          message.is_added ? ", to be added" : "", left, from,
          left + character_width * static_cast<double>(label_of(message).size()), left + gap_width - 12,
          lanes[index_of(message.receiver)]);
    }
    for (const auto& message : step.rounds[round].messages)  // above all arrows
      drawing.text(left + 2, lanes[index_of(message.sender)] - 5, "data message", label_of(message));
  }
}

}  // namespace

std::string explanation_text(const Explanation& explained) {
  const auto& layout = explained.layout;
  const bool has_all_steps = !explained.grids.empty();
  const bool is_summary = has_all_steps && layout.grid().rank_count() > most_drawn_ranks;
  std::string text = fmt::format(" {}\n {}\n", title_of(explained), subtitle_of(explained));
  text += fmt::format(" {}\n\n", legend) + block_table(layout, is_summary ? 1 : layout.grid().rank_count());
  int number = 0;
  for (const auto& step : explained.steps) {
    text += fmt::format("\n {}\n    {}\n", heading_of(step, ++number), step.purpose);
    if (!is_summary) text += held_by_ranks(step) + message_table(step);
    text += fmt::format("    {}\n", sent_text(step));
  }
  if (is_summary) text += "\n Each message of a step: --step, such as --step shuffle\n";
  return has_all_steps ? text + grids_text(explained) : text;
}

std::string explanation_svg(const Explanation& explained) {
  Drawing drawing;
  drawing.line(10, "title", title_of(explained));
  drawing.line(22, "soft", subtitle_of(explained));
  drawing.line(20, "soft", fmt::format("{}; a message with + is added.", legend));
  int number = 0;
  for (const auto& step : explained.steps) draw_step(drawing, step, ++number);
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}"
  role="img" aria-labelledby="title">
<title id="title">{2}</title>
<style>{3}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M 0 0 L 8 4 L 0 8 z" class="tip"/></marker></defs>
<rect width="100%" height="100%" class="page"/>
{4}</svg>
)",
      drawing.width, drawing.bottom + margin, title_of(explained), style, drawing.body);
}

}  // namespace cg2d
