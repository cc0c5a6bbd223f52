// The explanation as SVG: lanes of ranks, time from left to right. It needs no other file, and follows the
// reader's choice of light or dark.

#include "cg/explain/explanation.hpp"
#include "cg/library/built_in_choice.hpp"

namespace cg2d {
namespace {

// Pixels.
constexpr double margin = 24;
constexpr double lane_height = 34;
constexpr double cell_height = 20;
constexpr double most_cell_width = 26;
constexpr double least_strip_width = 92;  // for the words above it
constexpr double most_strip_width = 320;
constexpr double lane_name_width = 110;
constexpr double character_width = 6.7;  // width of a character of the font for data, 11 px, with some room
constexpr double block_width = 112;
constexpr double block_height = 50;
constexpr double longest_bar = 360;

constexpr std::string_view style = R"(
    svg { --page: #ffffff; --ink: #1a1a1a; --soft: #555555; --line: #b4b4b4; --p: #b9dcf2; --q: #f6cfae; --arrow: #1f4e79; --bar: #0072b2; }
    @media (prefers-color-scheme: dark) {
      svg { --page: #16191d; --ink: #eeeeee; --soft: #b5b5b5; --line: #565c63; --p: #1d4f73; --q: #77400f; --arrow: #8cc4ee; --bar: #56b4e9; }
    }
    .page { fill: var(--page); }
    text { fill: var(--ink); font: 13px system-ui, "Liberation Sans", Arial, sans-serif; }
    .title { font-size: 19px; font-weight: 600; }
    .head { font-size: 16px; font-weight: 600; }
    .soft { fill: var(--soft); }
    .data { font: 11px ui-monospace, "Liberation Mono", monospace; }
    .middle { text-anchor: middle; }
    .message { paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
    .place { fill: none; stroke: var(--line); }
    .p { fill: var(--p); }
    .q, .scalar { fill: var(--q); }
    .bar { fill: var(--bar); }
    .rule { stroke: var(--line); }
    .arrow { stroke: var(--arrow); stroke-width: 1.4; fill: none; marker-end: url(#tip); }
    .tip { fill: var(--arrow); }
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const auto& letter : text) {
    const std::string_view itself(&letter, 1);
    safe += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : itself;
  }
  return safe;
}

/// The drawing so far. Every part is put below the one before it.
struct Drawing {
  std::string body;
  double width = 0;
  double bottom = margin;

  void text(double x, double y, std::string_view kind, std::string_view words) {
    body +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, kind, escaped(words));
    const bool is_middle = kind.find("middle") != std::string_view::npos;
    if (!is_middle) reach(x + (kind.starts_with("title") ? 10.5 : 7.2) * static_cast<double>(words.size()));
  }
  /// A line of text, so far below the last part.
  void line(double distance, std::string_view kind, std::string_view words) {
    bottom += distance;
    text(margin, bottom, kind, words);
  }
  void rectangle(double x, double y, double box_width, double box_height, std::string_view kind) {
    body += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n",
                        x, y, box_width, box_height, kind);
    reach(x + box_width);
  }
  void open(std::string_view name) { body += fmt::format("<g><title>{}</title>\n", escaped(name)); }
  void close() { body += "</g>\n"; }
  void reach(double x) { width = std::max(width, x + margin); }
};

/// The numbers of the pieces that a rank may hold in this state of a step, the places of its strip: where ranks
/// exchange in groups, of the pieces that it holds at any time; else of those that it holds now.
comm::IndexRange places_of(const ExplainedStep& step, int rank, const AllPieces& state) {
  comm::IndexRange places{.begin = 0, .end = 0};
  const auto widen = [&](const AllPieces& held) {
    for (const auto& piece : held[index_of(rank)]) {
      places.begin = places.size() == 0 ? piece.number : std::min<int64_t>(places.begin, piece.number);
      places.end = std::max<int64_t>(places.end, piece.number + 1);
    }
  };
  widen(state);
  if (step.groups.size() == 1 && step.groups.front().name.empty()) return places;
  widen(step.held_before);
  for (const auto& round : step.rounds) widen(round.held_after);
  return places;
}

/// Lanes of one step: a column of strips for each state, gaps for messages between them.
class Lanes {
 public:
  Lanes(Drawing& drawing, const ExplainedStep& step)
      : drawing_(drawing), step_(step), states_(step.states()), bottom_(drawing.bottom + 6) {
    lanes_.resize(step.held_before.size());
    for (const auto& group : step.groups) {
      bottom_ += group.name.empty() ? 4 : 22;
      group_tops_.push_back(bottom_);
      for (const int rank : group.ranks) {
        lanes_[index_of(rank)] = bottom_ + lane_height / 2;
        bottom_ += lane_height;
      }
    }
    int64_t most_places = 1;
    size_t longest = 12;
    for (int rank = 0; rank < static_cast<int>(lanes_.size()); ++rank) {
      for (const auto& [name, held] : states_)
        most_places = std::max(most_places, places_of(step_, rank, *held).size());
    }
    for (const auto& round : step_.rounds) {
      for (const auto& message : round.messages) longest = std::max(longest, label_of(message).size());
    }
    cell_width_ = std::min(most_cell_width, most_strip_width / static_cast<double>(most_places));
    strip_width_ = std::max(cell_width_ * static_cast<double>(most_places), least_strip_width);
    gap_width_ = character_width * static_cast<double>(longest) + 70;
  }

  void draw() const {
    for (size_t state = 0; state < states_.size(); ++state) {
      drawing_.text(state_left(state), drawing_.bottom, "soft", states_[state].name);
      if (state < step_.rounds.size())
        drawing_.text(gap_left(state) + gap_width_ / 2, drawing_.bottom, "soft middle",
                      fmt::format("round {}", state + 1));
    }
    for (size_t k = 0; k < step_.groups.size(); ++k) {
      if (!step_.groups[k].name.empty())
        drawing_.text(margin, group_tops_[k] - 5, "soft", step_.groups[k].name);
    }
    for (size_t rank = 0; rank < lanes_.size(); ++rank)
      drawing_.text(margin, lanes_[rank] + 4, "", fmt::format("rank {}", rank));
    for (size_t state = 0; state < states_.size(); ++state) {
      for (size_t rank = 0; rank < lanes_.size(); ++rank) draw_strip(state, static_cast<int>(rank));
    }
    for (size_t round = 0; round < step_.rounds.size(); ++round) {
      for (const auto& message : step_.rounds[round].messages) draw_arrow(round, message);
      for (const auto& message : step_.rounds[round].messages) {  // above all arrows
        drawing_.text(gap_left(round) + 6, lanes_[index_of(message.sender)] - 5, "data message",
                      label_of(message));
      }
    }
    drawing_.reach(state_left(states_.size() - 1) + strip_width_);
    drawing_.bottom = bottom_;
  }

 private:
  double state_left(size_t state) const {
    return margin + lane_name_width + static_cast<double>(state) * (strip_width_ + gap_width_);
  }
  double gap_left(size_t round) const { return state_left(round) + strip_width_; }
  static std::string label_of(const ExplainedMessage& message) {
    return fmt::format("{}{}, {}", message.is_added ? "+" : "", pieces_text(message.vector, message.pieces),
                       format_bytes(message.byte_count));
  }

  /// The pieces that a rank holds: one box per piece, filled as far as it is summed; runs of boxes that are too
  /// narrow for a number are one box.
  void draw_strip(size_t state, int rank) const {
    const auto& held = *states_[state].held;
    const auto& pieces = held[index_of(rank)];
    const double top = lanes_[index_of(rank)] - cell_height / 2;
    const auto places = places_of(step_, rank, held);
    const bool has_numbers = cell_width_ >= 14;
    drawing_.open(fmt::format("rank {} holds {}", rank, held_text(pieces)));
    for (size_t k = 0, end = 0; k < pieces.size(); k = end) {
      const auto& piece = pieces[k];
      end = k + 1;
      while (!has_numbers && end < pieces.size() && pieces[end].number == pieces[end - 1].number + 1 &&
             pieces[end].summed_ranks == piece.summed_ranks)
        ++end;
      const double left = state_left(state) + cell_width_ * static_cast<double>(piece.number - places.begin);
      const double width = cell_width_ * static_cast<double>(end - k);
      const double share =
          piece.rank_count == 0 ? 1.0 : static_cast<double>(piece.summed_ranks) / piece.rank_count;
      const bool is_scalar = piece.vector == "p.q";
      drawing_.rectangle(left, top + cell_height * (1 - share), width, cell_height * share,
                         is_scalar ? "scalar" : piece.vector);
      if (!has_numbers) continue;
      drawing_.rectangle(left, top, width, cell_height, "place");
      drawing_.text(left + width / 2, top + 14, "data middle",
                    is_scalar ? "sum" : std::to_string(piece.number));
    }
    if (!pieces.empty())
      drawing_.rectangle(state_left(state), top, cell_width_ * static_cast<double>(places.size()),
                         cell_height, "place");
    drawing_.close();
  }

  void draw_arrow(size_t round, const ExplainedMessage& message) const {
    const double left = gap_left(round) + 4;
    const double right = gap_left(round) + gap_width_ - 5;
    const double from = lanes_[index_of(message.sender)];
    const double to = lanes_[index_of(message.receiver)];
    drawing_.open(fmt::format("rank {} sends {} to rank {}, {} bytes{}", message.sender,
                              pieces_text(message.vector, message.pieces), message.receiver,
                              message.byte_count, message.is_added ? ", to be added" : ""));
    drawing_.body +=
        fmt::format("<path d=\"M {:.1f} {:.1f} H {:.1f} L {:.1f} {:.1f}\" class=\"arrow\"/>\n", left, from,
                    left + character_width * static_cast<double>(label_of(message).size()), right, to);
    drawing_.close();
  }

  Drawing& drawing_;
  const ExplainedStep& step_;
  std::vector<double> lanes_;  // the middle of each rank's lane
  std::vector<double> group_tops_;
  std::vector<ExplainedStep::State> states_;
  double bottom_;
  double cell_width_ = 0;
  double strip_width_ = 0;
  double gap_width_ = 0;
};

void draw_step(Drawing& drawing, const ExplainedStep& step, int number) {
  drawing.line(46, "head", heading_of(step, number));
  drawing.line(20, "", step.purpose);
  drawing.line(18, "soft", sent_text(step));
  drawing.bottom += 26;
  drawing.open(step.name);
  Lanes(drawing, step).draw();
  drawing.close();
}

/// The matrix as a plane of blocks, each with its rank and that rank's pieces.
void draw_matrix(Drawing& drawing, const comm::BlockLayout& layout) {
  const auto grid = layout.grid();
  const double left = margin + lane_name_width;
  drawing.line(40, "head", "The matrix blocks, and the pieces of p and q that each rank owns");
  drawing.bottom += 34;
  const auto block_text = [](std::string_view vector, int64_t first, int64_t count) {
    return count == 1 ? fmt::format("{}{}", vector, first)
                      : fmt::format("{}{}-{}", vector, first, first + count - 1);
  };
  for (int column = 0; column < grid.columns; ++column)
    drawing.text(left + (column + 0.5) * block_width, drawing.bottom - 6, "data middle",
                 block_text("p", int64_t{column} * grid.rows, grid.rows));
  for (int row = 0; row < grid.rows; ++row) {
    const double top = drawing.bottom + row * block_height;
    drawing.text(margin, top + block_height / 2 + 4, "data",
                 block_text("q", int64_t{row} * grid.columns, grid.columns));
    for (int column = 0; column < grid.columns; ++column) {
      const int rank = grid.rank_at(row, column);
      const double x = left + column * block_width;
      drawing.open(fmt::format("rank {}: rows {} to {}, columns {} to {} of the matrix", rank,
                               layout.row_block(row).begin, layout.row_block(row).end - 1,
                               layout.column_block(column).begin, layout.column_block(column).end - 1));
      drawing.rectangle(x, top, block_width, block_height, "place");
      drawing.text(x + block_width / 2, top + 20, "middle", fmt::format("rank {}", rank));
      drawing.text(x + block_width / 2, top + 38, "data middle",
                   fmt::format("p{} q{}", layout.column_piece_of(rank), layout.row_piece_of(rank)));
      drawing.close();
    }
  }
  drawing.bottom += grid.rows * block_height;
}

void draw_costs(Drawing& drawing, const Explanation& explained) {
  int64_t most = 1;
  for (const auto& cost : explained.grids) most = std::max(most, cost.traffic.busiest.byte_count);
  drawing.line(48, "head",
               fmt::format("All grids of {}: what the busiest rank sends in one CG step",
                           format_count(explained.layout.grid().rank_count(), "rank")));
  drawing.bottom += 12;
  for (const auto& cost : explained.grids) {
    const auto& traffic = cost.traffic;
    const double bar =
        longest_bar * static_cast<double>(traffic.busiest.byte_count) / static_cast<double>(most);
    const double left = margin + lane_name_width;
    drawing.text(margin, drawing.bottom + 16, cost.grid == explained.layout.grid() ? "head" : "",
                 cost.grid.name());
    drawing.rectangle(left, drawing.bottom + 4, bar, 15, "bar");
    drawing.text(left + bar + 8, drawing.bottom + 16, "",
                 fmt::format("{} in {}, {}{}", format_bytes(traffic.busiest.byte_count),
                             format_count(traffic.busiest.message_count, "message"),
                             format_count(traffic.round_count, "round"),
                             cost.is_choice_of_rule ? "; --grid rule takes it" : ""));
    drawing.bottom += 24;
  }
  drawing.line(
      18, "soft",
      fmt::format("--grid rule takes the least bytes, a message counted as {} more.", start_up_bytes));
}

}  // namespace

std::string explanation_svg(const Explanation& explained) {
  Drawing drawing;
  drawing.line(10, "title", title_of(explained));
  drawing.line(22, "soft", subtitle_of(explained));
  drawing.line(
      20, "soft",
      "Numbers in boxes: pieces of p (blue) and q (orange). A box is filled as far as its sum is complete; a "
      "message with + is added.");
  draw_matrix(drawing, explained.layout);
  int number = 0;
  for (const auto& step : explained.steps) draw_step(drawing, step, ++number);
  if (!explained.grids.empty()) draw_costs(drawing, explained);
  // All figures in words, for readers who do not see the picture.
  auto description = subtitle_of(explained) + ".";
  for (const auto& step : explained.steps)
    description += fmt::format(
        " {}: {} {}{}", step.name, step.purpose, sent_text(step),
        step.rounds.empty() ? "" : fmt::format(" {}.", format_count(step.round_count(), "round")));
  const double height = drawing.bottom + margin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">{2}</title>\n"
      "<desc id=\"description\">{3}</desc>\n<style>{4}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" "
      "refX=\"7\" "
      "refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" "
      "class=\"tip\"/>"
      "</marker></defs>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n{5}</svg>\n",
      drawing.width, height, escaped(title_of(explained)), escaped(description), style, drawing.body);
}

}  // namespace cg2d
