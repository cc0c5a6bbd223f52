#include "cg/explain/explanation.hpp"

#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/solver/cg_step.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

constexpr std::string_view all_steps = "all";
constexpr std::string_view scalar = "p.q";

using comm::BlockLayout;
using comm::ScheduleStep;
using comm::SumForm;

/// One exchange of a CG step.
struct Exchange {
  const StepPart& part;
  const BlockLayout& layout;

  bool is_of_rows() const { return part.group == StepGroup::process_row; }
  comm::Line line() const { return is_of_rows() ? comm::Line::process_row : comm::Line::process_column; }
  /// The number of ranks that exchange among themselves, and so of pieces.
  int group_size() const {
    const auto grid = layout.grid();
    return part.group == StepGroup::all_ranks ? grid.rank_count() : grid.line_size(line());
  }
  /// The pieces of a run of the rank's group that are not empty, by their numbers in the layout. A scalar is piece 0.
  std::vector<int> pieces_of(const comm::PieceRun& run, int rank) const {
    if (part.phase == Phase::dot) return {0};
    const int size = group_size();
    const int first = part.is_move() ? 0 : layout.grid().line_of(line(), rank) * size;
    std::vector<int> numbers;
    for (int k = 0; k < run.count; ++k) {
      const int number = first + (run.first + k) % size;
      if (layout.piece(number).size() > 0) numbers.push_back(number);
    }
    return numbers;
  }
};

/// A rank that goes through its schedule.
struct Actor {
  std::vector<ScheduleStep> steps;
  std::vector<StepMessages> messages;  ///< of the steps
  size_t done = 0;                     ///< as many steps
  bool waits = false;                  ///< for the other end of a message of the next step

  bool has_ended() const { return done == steps.size(); }
  const StepMessages& next() const { return messages[done]; }
};

/// Whether that partner, if there is one, does a step now in which this rank is at that end.
bool has_partner(const std::vector<Actor>& actors, int rank, int partner, int StepMessages::*end) {
  if (partner == ScheduleStep::no_partner) return true;
  const auto& other = actors[index_of(partner)];
  return !other.waits && other.next().*end == rank;
}

/// Finds out who waits; whoever does makes its partners wait, too. Whether any steps are left.
bool find_partners(std::vector<Actor>& actors) {
  for (auto& actor : actors) actor.waits = actor.has_ended();
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (int rank = 0; rank < static_cast<int>(actors.size()); ++rank) {
      auto& actor = actors[index_of(rank)];
      if (actor.waits) continue;
      actor.waits = !has_partner(actors, rank, actor.next().to, &StepMessages::from) ||
                    !has_partner(actors, rank, actor.next().from, &StepMessages::to);
      has_changed |= actor.waits;
    }
  }
  if (std::ranges::all_of(actors, &Actor::has_ended)) return false;
  if (std::ranges::all_of(actors, &Actor::waits))
    throw std::logic_error("the steps of a schedule wait in a circle, or for a message that nobody sends");
  return true;
}

/// Puts a piece in its place among those of a rank, or adds it to the sum that is there.
void take(RankPieces& held, const HeldPiece& piece, bool is_added) {
  const auto place = std::ranges::lower_bound(held, piece.number, {}, &HeldPiece::number);
  if (place == held.end() || place->number != piece.number) {
    held.insert(place, piece);
  } else if (is_added) {
    place->summed_ranks += piece.summed_ranks;
  } else {
    *place = piece;
  }
}

/// Sends what the rank's step sends, if anything. before: what all ranks held before the round.
void send(const Exchange& exchange, const std::vector<Actor>& actors, int rank, const AllPieces& before,
          ExchangeRound& round) {
  const auto& actor = actors[index_of(rank)];
  if (actor.waits || actor.next().sent_count == 0 || actor.next().to == rank) return;
  const auto& step = actor.steps[actor.done];
  const int receiver = actor.next().to;
  const bool is_added = actors[index_of(receiver)].next().is_added;
  auto given = exchange.pieces_of(step.sent, rank);
  for (const int number : given) {
    const auto& sent = before[index_of(rank)];
    const auto piece = std::ranges::find(sent, number, &HeldPiece::number);
    if (piece == sent.end()) throw std::logic_error("a schedule sends a piece that its sender lacks");
    take(round.held_after[index_of(receiver)], *piece, is_added);
  }
  round.messages.push_back({.sender = rank,
                            .receiver = receiver,
                            .vector = exchange.part.vector,
                            .pieces = given,
                            .byte_count = actor.next().sent_count * static_cast<int64_t>(sizeof(double)),
                            .is_added = is_added});
  if (!is_added && !exchange.part.is_move()) return;
  // These pieces now belong to the receiver.
  if (step.receive_from != ScheduleStep::no_partner) {
    for (const int kept : exchange.pieces_of(step.received, rank)) std::erase(given, kept);
  }
  std::erase_if(round.held_after[index_of(rank)], [&](const HeldPiece& piece) {
    return std::ranges::find(given, piece.number) != given.end();
  });
}

/// The pieces of a rank before its first step: all where they are partial sums, that which it moves, or its own.
RankPieces first_pieces(const Exchange& exchange, const Actor& actor, int rank) {
  const auto& part = exchange.part;
  HeldPiece piece{.vector = part.vector};
  comm::PieceRun run{.first = 0, .count = exchange.group_size()};
  if (part.is_sum()) {
    piece.summed_ranks = 1;
    piece.rank_count = exchange.group_size();
  } else if (part.is_move()) {
    run = actor.steps.front().sent;
    if (part.phase == Phase::shuffle)  // of sums over a process row
      piece.summed_ranks = piece.rank_count = exchange.layout.grid().columns;
  } else {
    run = {.first = exchange.layout.grid().member_of(exchange.line(), rank), .count = 1};
  }
  RankPieces held;
  for (const int number : exchange.pieces_of(run, rank)) {
    piece.number = number;
    held.push_back(piece);
  }
  return held;
}

/// Replays the exchange in each process row, in each process column, or among all ranks. Each step of each rank happens in the earliest
/// round in which both ends of its messages are there. A rank that sends a partial sum to be added, or a piece that moves, keeps none of
/// it, unless it receives the same pieces in the same step. Throws std::logic_error where a message has only one end, or a rank waits for
/// a message that never comes. Cost: ranks * pieces of a group * rounds.
void replay(const Exchange& exchange, SumForm form, ExplainedStep& step) {
  const auto& [part, layout] = exchange;
  const auto grid = layout.grid();
  if (part.group != StepGroup::all_ranks) {
    step.groups.clear();
    for (int number = 0; number < grid.rank_count() / exchange.group_size(); ++number)
      step.groups.push_back({fmt::format("process {} {}", exchange.is_of_rows() ? "row" : "column", number),
                             grid.ranks_of(exchange.line(), number)});
  }
  std::vector<Actor> actors;
  for (int rank = 0; rank < grid.rank_count(); ++rank) {
    const auto& actor = actors.emplace_back(Actor{.steps = schedule_of(part, layout, rank, form).steps,
                                                  .messages = messages_of(part, layout, rank, form)});
    step.held_before[index_of(rank)] = first_pieces(exchange, actor, rank);
  }
  step.held_after = step.held_before;
  while (find_partners(actors)) {
    ExchangeRound now{.messages = {}, .held_after = step.held_after};
    for (int rank = 0; rank < grid.rank_count(); ++rank) send(exchange, actors, rank, step.held_after, now);
    for (auto& actor : actors) actor.done += actor.waits ? 0 : 1;
    if (now.messages.empty()) continue;  // all pieces are empty
    step.held_after = now.held_after;
    step.rounds.push_back(std::move(now));
  }
}

/// The pieces of a block of so many that are not empty, each like this one.
RankPieces pieces_of_block(const BlockLayout& layout, int block, int count, HeldPiece piece) {
  RankPieces held;
  for (piece.number = block * count; piece.number < (block + 1) * count; ++piece.number) {
    if (layout.piece(piece.number).size() > 0) held.push_back(piece);
  }
  return held;
}

void multiply(const BlockLayout& layout, ExplainedStep& step) {
  const auto grid = layout.grid();
  for (const int rank : step.groups.front().ranks) {
    step.held_before[index_of(rank)] =
        pieces_of_block(layout, grid.column_of(rank), grid.rows, {.vector = "p"});
    step.held_after[index_of(rank)] =
        pieces_of_block(layout, grid.row_of(rank), grid.columns,
                        {.vector = "q", .summed_ranks = 1, .rank_count = grid.columns});
  }
}

std::vector<ExplainedStep> steps_on(const BlockLayout& layout, SumForm form, bool is_mirrored,
                                    std::string_view wanted) {
  const auto all_ranks = layout.grid().ranks_by_place();
  const AllPieces nothing(all_ranks.size());
  std::vector<ExplainedStep> steps;
  for (const auto& part : step_parts) {
    if ((part.is_mirrored && !is_mirrored) || (wanted != all_steps && wanted != part.name)) continue;
    auto& step = steps.emplace_back(ExplainedStep{.name = part.name,
                                                  .purpose = part.purpose,
                                                  .groups = {{"", all_ranks}},
                                                  .times = part.times,
                                                  .held_before = nothing,
                                                  .rounds = {},
                                                  .held_after = nothing});
    if (part.phase == Phase::multiply)
      multiply(layout, step);
    else
      replay({part, layout}, form, step);
  }
  return steps;
}

std::vector<GridCost> costs_of_grids(const Explanation& explained) {
  const auto facts = facts_of(explained.problem);
  const int rank_count = explained.layout.grid().rank_count();
  const auto chosen = choose_grid(facts, explained.configuration, rank_count);
  std::vector<GridCost> costs;
  for (const auto& grid : comm::factorizations(rank_count)) {
    auto configuration = explained.configuration;
    configuration.grid = grid;
    const auto steps =
        steps_on(make_layout(facts, configuration), configuration.sum_form, explained.is_mirrored, all_steps);
    costs.push_back({.grid = grid, .traffic = traffic_of(steps), .is_choice_of_rule = grid == chosen});
  }
  return costs;
}

}  // namespace

std::vector<ExplainedStep::State> ExplainedStep::states() const {
  std::vector<State> states{{"before", &held_before}};
  for (size_t round = 0; round + 1 < rounds.size(); ++round)
    states.push_back({fmt::format("after round {}", round + 1), &rounds[round].held_after});
  states.push_back({"after", &held_after});
  return states;
}

std::vector<comm::Traffic> ExplainedStep::sent_by_rank() const {
  std::vector<comm::Traffic> sent(held_before.size());
  for (const auto& round : rounds) {
    for (const auto& message : round.messages)
      sent[index_of(message.sender)] += {.message_count = times, .byte_count = times * message.byte_count};
  }
  return sent;
}

ExplainedTraffic traffic_of(std::span<const ExplainedStep> steps) {
  ExplainedTraffic total;
  std::vector<comm::Traffic> by_rank(steps.empty() ? 0 : steps.front().held_before.size());
  for (const auto& step : steps) {
    const auto sent = step.sent_by_rank();
    for (size_t rank = 0; rank < sent.size(); ++rank) by_rank[rank] += sent[rank];
    total.round_count += step.round_count();
  }
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    total.all_ranks += by_rank[rank];
    if (by_rank[rank].byte_count < total.busiest.byte_count) continue;
    total.busiest = by_rank[rank];
    total.busiest_rank = static_cast<int>(rank);
  }
  return total;
}

Explanation explain_step(const Problem& problem, const Configuration& configuration, std::string_view step) {
  const bool is_mirrored = planned_kernel(configuration).stores_half();
  auto layout = make_layout(facts_of(problem), configuration);
  auto steps = steps_on(layout, configuration.sum_form, is_mirrored, step);
  if (steps.empty())
    throw InputError(
        "--step {}: kernel {} stores the whole matrix and has no such step; --kernel symmetric has", step,
        planned_kernel(configuration).name);
  Explanation explained{.problem = problem,
                        .configuration = configuration,
                        .is_mirrored = is_mirrored,
                        .layout = std::move(layout),
                        .steps = std::move(steps),
                        .grids = {}};
  if (step == all_steps) explained.grids = costs_of_grids(explained);
  return explained;
}

std::string pieces_text(std::string_view vector, std::span<const int> pieces) {
  if (vector == scalar) return std::string(vector);
  std::string text;
  for (size_t k = 0; k < pieces.size();) {
    size_t last = k;
    while (last + 1 < pieces.size() && pieces[last + 1] == pieces[last] + 1) ++last;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", vector, pieces[k]);
    if (last > k) text += fmt::format("-{}", pieces[last]);
    k = last + 1;
  }
  return text;
}

std::string held_text(const RankPieces& held) {
  std::string text;
  for (size_t k = 0; k < held.size();) {
    std::vector<int> alike;
    const auto& first = held[k];
    for (; k < held.size() && held[k].vector == first.vector && held[k].summed_ranks == first.summed_ranks;
         ++k)
      alike.push_back(held[k].number);
    text += fmt::format("{}{}", text.empty() ? "" : " ", pieces_text(first.vector, alike));
    if (first.is_partial()) text += fmt::format(" ({} of {})", first.summed_ranks, first.rank_count);
  }
  return text.empty() ? "-" : text;
}

std::string heading_of(const ExplainedStep& step, int number) {
  std::string name(step.name);
  name.front() = upper_letter(name.front());
  return fmt::format("{}. {}{}", number, name, step.times == 1 ? "" : fmt::format(", {} times", step.times));
}

std::string sent_text(const ExplainedStep& step) {
  if (step.rounds.empty()) return "Nothing is sent.";
  const auto traffic = traffic_of(std::span(&step, 1));
  const auto sends = [](const comm::Traffic& sent) {
    return fmt::format("{}, {} bytes", format_count(sent.message_count, "message"), sent.byte_count);
  };
  return fmt::format("The busiest rank ({}) sends {}; all ranks {}{}.", traffic.busiest_rank,
                     sends(traffic.busiest), sends(traffic.all_ranks),
                     step.times == 1 ? "" : ", for both dot products");
}

std::string title_of(const Explanation& explained) {
  const auto grid = explained.layout.grid();
  return fmt::format("One CG step on the grid {}: {} x {} = {}", grid.name(),
                     format_count(grid.columns, "process column"), format_count(grid.rows, "process row"),
                     format_count(grid.rank_count(), "rank"));
}

std::string subtitle_of(const Explanation& explained) {
  return fmt::format("class {}: vectors of n = {} numbers in {}; sum: {}{}", explained.problem.class_name,
                     explained.layout.size(), format_count(explained.layout.grid().rank_count(), "piece"),
                     sum_form_name(explained.configuration.sum_form),
                     explained.is_mirrored ? "; half of the matrix is stored" : "");
}

// The description as JSON.

void describe(Members& m, comm::IndexRange& range) {
  m("begin", range.begin, at_least(0));
  m("end", range.end, at_least(0));
}

void describe(Members& m, comm::Traffic& sent) {
  m("messages", sent.message_count, at_least(0));
  m("bytes", sent.byte_count, at_least(0));
}

constexpr std::string_view of_vector = "p, q, or p.q: a scalar.";

constexpr Note of_held{.meaning = "The pieces that each rank holds, by rank; empty pieces are left out.",
                       .fewest = 1};

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
  m.list("ranks", pieces, {.fewest = 1}, [&](const auto& /*piece*/, size_t number) {
    const auto rank = static_cast<int>(number);
    const auto row = layout.grid().row_of(rank);
    const auto column = layout.grid().column_of(rank);
    m.derived("rank", rank, at_least(0));
    m.derived("process_row", row, at_least(0));
    m.derived("process_column", column, at_least(0));
    m.derived("rows", layout.row_block(row), meaning("Half-open."));
    m.derived("columns", layout.column_block(column), meaning("Half-open."));
    m.derived("row_piece", layout.row_piece_of(rank), at_least(0));
    m.derived("column_piece", layout.column_piece_of(rank), at_least(0));
  });
  m("steps", explained.steps, {.fewest = 1});
  m.derived("per_cg_step", traffic_of(explained.steps));
  m("grids", explained.grids, meaning("Every grid of as many ranks; empty where --step names one step."));
}

void visit_explanation(Members& m) {
  auto explained = explain_step(*find_class("S"), {.grid = {.columns = 1, .rows = 1}}, "all");
  m.visit(explained);
}

// The command.

ExitCode explain(const ExplainOptions& options, comm::RankGroup& group) {
  write_output(options.output, group, [&] {
    const auto explained = explain_step(options.problem, options.configuration, options.step);
    if (options.format == "json") return document_text(explained);
    return options.format == "svg" ? explanation_svg(explained) : explanation_text(explained);
  });
  return ExitCode::success;
}

}  // namespace cg2d
