// Exchanges replayed round by round.

#include "cg/explain/explanation.hpp"

namespace cg2d {
namespace {

using comm::ScheduleStep;

/// The pieces of a run that are not empty, by their numbers in the layout.
std::vector<int> pieces_of(const comm::PieceRun& run, const GroupExchange& exchange) {
  std::vector<int> numbers;
  for (int k = 0; k < run.count; ++k) {
    const int member = (run.first + k) % exchange.pieces.group_size();
    if (exchange.pieces.piece(member).size() > 0) numbers.push_back(exchange.first_piece + member);
  }
  return numbers;
}

/// A rank that goes through its schedule.
struct Actor {
  const GroupExchange* exchange = nullptr;
  int member = 0;
  std::span<const ScheduleStep> steps{};  ///< that are still to be done
  bool waits = false;                     ///< for the other end of a message of the first of them

  int rank_of(int partner) const { return exchange->ranks[index_of(partner)]; }
};

/// Whether that partner, if there is one, does a step now in which this member is at that end.
bool has_partner(const std::vector<Actor>& actors, const Actor& actor, int partner, int ScheduleStep::*end) {
  if (partner == ScheduleStep::no_partner) return true;
  const auto& other = actors[index_of(actor.rank_of(partner))];
  return !other.waits && other.steps.front().*end == actor.member;
}

/// Finds out who waits; whoever does makes its partners wait, too. Whether any steps are left.
bool find_partners(std::vector<Actor>& actors) {
  for (auto& actor : actors) actor.waits = actor.steps.empty();
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto& actor : actors) {
      if (actor.waits) continue;
      const auto& step = actor.steps.front();
      actor.waits = !has_partner(actors, actor, step.send_to, &ScheduleStep::receive_from) ||
                    !has_partner(actors, actor, step.receive_from, &ScheduleStep::send_to);
      has_changed |= actor.waits;
    }
  }
  if (std::ranges::all_of(actors, [](const Actor& actor) { return actor.steps.empty(); })) return false;
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
void send(const std::vector<Actor>& actors, int rank, const AllPieces& before, ExchangeRound& round) {
  const auto& actor = actors[index_of(rank)];
  if (actor.waits) return;
  const auto& exchange = *actor.exchange;
  const auto& step = actor.steps.front();
  if (step.send_to == ScheduleStep::no_partner || exchange.pieces.element_count(step.sent) == 0) return;
  auto given = pieces_of(step.sent, exchange);
  const int receiver = actor.rank_of(step.send_to);
  if (receiver == rank) return;
  const bool is_added = actors[index_of(receiver)].steps.front().combine == comm::Combine::add;
  for (const int number : given) {
    const auto& sent = before[index_of(rank)];
    const auto piece = std::ranges::find(sent, number, &HeldPiece::number);
    if (piece == sent.end()) throw std::logic_error("a schedule sends a piece that its sender lacks");
    take(round.held_after[index_of(receiver)], *piece, is_added);
  }
  round.messages.push_back(
      {.sender = rank,
       .receiver = receiver,
       .vector = exchange.piece.vector,
       .pieces = given,
       .byte_count = exchange.pieces.element_count(step.sent) * static_cast<int64_t>(sizeof(double)),
       .is_added = is_added});
  if (!is_added && !exchange.is_move) return;
  // These pieces now belong to the receiver.
  if (step.receive_from != ScheduleStep::no_partner) {
    for (const int kept : pieces_of(step.received, exchange)) std::erase(given, kept);
  }
  std::erase_if(round.held_after[index_of(rank)], [&](const HeldPiece& piece) {
    return std::ranges::find(given, piece.number) != given.end();
  });
}

}  // namespace

void add_first_pieces(const GroupExchange& exchange, AllPieces& held) {
  auto piece = exchange.piece;
  for (size_t member = 0; member < exchange.ranks.size(); ++member) {
    comm::PieceRun run{.first = static_cast<int>(member), .count = 1};
    if (piece.is_partial()) run = {.first = 0, .count = exchange.pieces.group_size()};
    if (exchange.is_move) run = exchange.schedules[member].steps.front().sent;
    for (const int number : pieces_of(run, exchange)) {
      piece.number = number;
      held[index_of(exchange.ranks[member])].push_back(piece);
    }
  }
}

std::vector<ExchangeRound> replay(std::span<const GroupExchange> groups, const AllPieces& held_before) {
  std::vector<Actor> actors(held_before.size());
  for (const auto& group : groups) {
    for (int member = 0; member < static_cast<int>(group.ranks.size()); ++member)
      actors[index_of(group.ranks[index_of(member)])] = {
          .exchange = &group, .member = member, .steps = group.schedules[index_of(member)].steps};
  }
  std::vector<ExchangeRound> rounds;
  auto held = held_before;
  while (find_partners(actors)) {
    ExchangeRound now{.messages = {}, .held_after = held};
    for (int rank = 0; rank < static_cast<int>(actors.size()); ++rank) send(actors, rank, held, now);
    for (auto& actor : actors) {
      if (!actor.waits) actor.steps = actor.steps.subspan(1);
    }
    if (now.messages.empty()) continue;  // all pieces are empty
    held = now.held_after;
    rounds.push_back(std::move(now));
  }
  return rounds;
}

}  // namespace cg2d
