// Exchanges replayed round by round.

#include <algorithm>
#include <stdexcept>

#include "cg/explain/explanation.hpp"

namespace cg2d {
namespace {

/// The pieces of a run that are not empty, by their numbers in the layout.
std::vector<int> pieces_of(const comm::PieceRun& run, const GroupExchange& exchange) {
  std::vector<int> numbers;
  for (int k = 0; k < run.count; ++k) {
    const int member = (run.first + k) % exchange.pieces.group_size();
    if (exchange.pieces.piece(member).size() > 0) numbers.push_back(exchange.first_piece + member);
  }
  return numbers;
}

/// A message: a sender's step with the receiver's.
struct MatchedStep {
  int sender;
  const comm::ScheduleStep* sent;
  const comm::ScheduleStep* received;
};

/// The next step of each member of a group, by number.
using NextSteps = std::vector<std::size_t>;

bool is_done(const GroupExchange& exchange, const NextSteps& next) {
  return std::ranges::equal(next, exchange.schedules, {}, {},
                            [](const auto& schedule) { return schedule.steps.size(); });
}

/// Does the next step of every member that need not wait for a partner at the other end of its message. The messages, empty ones left
/// out.
std::vector<MatchedStep> advance(const GroupExchange& exchange, NextSteps& next) {
  std::vector<const comm::ScheduleStep*> steps;  // by member; nullptr: it has none, or waits
  for (std::size_t member = 0; member < next.size(); ++member) {
    const auto& all = exchange.schedules[member].steps;
    steps.push_back(next[member] < all.size() ? &all[next[member]] : nullptr);
  }
  const auto waits = [&](int member) {
    const auto is_alone = [&](int partner, int comm::ScheduleStep::*end) {
      if (partner == comm::ScheduleStep::no_partner) return false;
      const auto* const other = steps[index_of(partner)];
      return other == nullptr || other->*end != member;
    };
    const auto* const step = steps[index_of(member)];
    return step != nullptr && (is_alone(step->send_to, &comm::ScheduleStep::receive_from) ||
                               is_alone(step->receive_from, &comm::ScheduleStep::send_to));
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (int member = 0; member < static_cast<int>(steps.size()); ++member) {
      if (!waits(member)) continue;
      steps[index_of(member)] = nullptr;
      has_changed = true;
    }
  }
  if (!is_done(exchange, next) && std::ranges::count(steps, nullptr) == std::ssize(steps))
    throw std::logic_error("the steps of a schedule wait in a circle, or for a message that nobody sends");
  std::vector<MatchedStep> messages;
  for (std::size_t member = 0; member < steps.size(); ++member) {
    const auto* const step = steps[member];
    if (step == nullptr) continue;
    ++next[member];
    if (step->send_to != comm::ScheduleStep::no_partner && exchange.pieces.element_count(step->sent) > 0)
      messages.push_back(
          {.sender = static_cast<int>(member), .sent = step, .received = steps[index_of(step->send_to)]});
  }
  return messages;
}

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

/// One message of a group: before is what all ranks held before the round.
ExplainedMessage deliver(const GroupExchange& exchange, const MatchedStep& step, const AllPieces& before,
                         AllPieces& held) {
  ExplainedMessage message{.sender = exchange.ranks[index_of(step.sender)],
                           .receiver = exchange.ranks[index_of(step.sent->send_to)],
                           .vector = exchange.vector,
                           .pieces = pieces_of(step.sent->sent, exchange),
                           .byte_count = exchange.pieces.element_count(step.sent->sent) *
                                         static_cast<std::int64_t>(sizeof(double)),
                           .is_added = step.received->combine == comm::Combine::add};
  for (const int number : message.pieces) {
    const auto& sent = before[index_of(message.sender)];
    const auto piece = std::ranges::find(sent, number, &HeldPiece::number);
    if (piece == sent.end()) throw std::logic_error("a schedule sends a piece that its sender lacks");
    take(held[index_of(message.receiver)], *piece, message.is_added);
  }
  return message;
}

/// The sender's partial sums that now belong to the receiver.
void forget_sent_sums(const GroupExchange& exchange, const MatchedStep& step, AllPieces& held) {
  if (step.received->combine != comm::Combine::add) return;
  auto given_away = pieces_of(step.sent->sent, exchange);
  if (step.sent->receive_from != comm::ScheduleStep::no_partner) {
    for (const int kept : pieces_of(step.sent->received, exchange)) std::erase(given_away, kept);
  }
  std::erase_if(held[index_of(exchange.ranks[index_of(step.sender)])], [&](const HeldPiece& piece) {
    return std::ranges::find(given_away, piece.number) != given_away.end();
  });
}

}  // namespace

void add_first_pieces(const GroupExchange& exchange, AllPieces& held) {
  const auto member_count = static_cast<int>(exchange.ranks.size());
  const int summed_ranks = exchange.is_sum ? 1 : 0;
  for (int member = 0; member < member_count; ++member) {
    const comm::PieceRun run = exchange.is_sum ? comm::PieceRun{.first = 0, .count = member_count}
                                               : comm::PieceRun{.first = member, .count = 1};
    for (const int number : pieces_of(run, exchange))
      held[index_of(exchange.ranks[index_of(member)])].push_back({.vector = exchange.vector,
                                                                  .number = number,
                                                                  .summed_ranks = summed_ranks,
                                                                  .rank_count = summed_ranks * member_count});
  }
}

std::vector<ExchangeRound> replay(std::span<const GroupExchange> groups, const AllPieces& held_before) {
  std::vector<NextSteps> next(groups.size());
  std::ranges::transform(groups, next.begin(),
                         [](const auto& group) { return NextSteps(group.ranks.size()); });
  std::vector<ExchangeRound> rounds;
  auto held = held_before;
  while (!std::ranges::equal(groups, next, is_done)) {
    ExchangeRound now{.messages = {}, .held_after = held};
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const auto steps = advance(groups[group], next[group]);
      for (const auto& step : steps) forget_sent_sums(groups[group], step, now.held_after);
      for (const auto& step : steps)
        now.messages.push_back(deliver(groups[group], step, held, now.held_after));
    }
    if (now.messages.empty()) continue;  // all pieces are empty
    std::ranges::sort(now.messages, {}, &ExplainedMessage::sender);
    held = now.held_after;
    rounds.push_back(std::move(now));
  }
  return rounds;
}

}  // namespace cg2d
