#include "cg/explain/exchange_rounds.hpp"

#include <algorithm>
#include <stdexcept>

namespace cg2d {
namespace {

/// The step in which the receiver of a step's message takes it: of several messages between two members the
/// first one sent is the first one received.
std::size_t receiving_step(std::span<const comm::Schedule> schedules, int sender, std::size_t step) {
  const auto& sent = schedules[index_of(sender)].steps;
  const int receiver = sent[step].send_to;
  const auto end = sent.begin() + static_cast<std::ptrdiff_t>(step);
  auto earlier =
      std::count_if(sent.begin(), end, [&](const auto& other) { return other.send_to == receiver; });
  const auto& received = schedules[index_of(receiver)].steps;
  for (std::size_t k = 0; k < received.size(); ++k) {
    if (received[k].receive_from == sender && earlier-- == 0) return k;
  }
  throw std::logic_error("a schedule sends a message that nobody receives");
}

/// The pieces of a run that are not empty, as members of the group.
std::vector<int> members_of(const comm::PieceRun& run, const comm::GroupPieces& pieces) {
  std::vector<int> members;
  for (int k = 0; k < run.count; ++k) {
    const int member = (run.first + k) % pieces.group_size();
    if (pieces.piece(member).size() > 0) members.push_back(member);
  }
  return members;
}

/// A sender's step with the receiver's.
struct MatchedStep {
  int sender;
  const comm::ScheduleStep* sent;
  int receiver;
  const comm::ScheduleStep* received;
};

/// The messages of one round of a group, empty ones left out.
std::vector<MatchedStep> steps_of_round(const GroupExchange& exchange,
                                        const std::vector<std::vector<int>>& rounds, int round) {
  std::vector<MatchedStep> matched;
  for (int member = 0; member < static_cast<int>(exchange.ranks.size()); ++member) {
    const auto& steps = exchange.schedules[index_of(member)].steps;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const auto& step = steps[k];
      if (rounds[index_of(member)][k] != round || step.send_to == comm::ScheduleStep::no_partner) continue;
      if (exchange.pieces.element_count(step.sent) == 0) continue;
      const auto received = receiving_step(exchange.schedules, member, k);
      matched.push_back({.sender = member,
                         .sent = &step,
                         .receiver = step.send_to,
                         .received = &exchange.schedules[index_of(step.send_to)].steps[received]});
    }
  }
  return matched;
}

RankPieces::iterator place_of(RankPieces& held, int number) {
  return std::ranges::lower_bound(held, number, {}, &HeldPiece::number);
}

bool has(const RankPieces::iterator& place, const RankPieces& held, int number) {
  return place != held.end() && place->number == number;
}

void give_away(RankPieces& held, int number) {
  const auto place = place_of(held, number);
  if (has(place, held, number)) held.erase(place);
}

void take(RankPieces& held, const HeldPiece& piece, bool is_added) {
  const auto place = place_of(held, piece.number);
  if (!has(place, held, piece.number)) {
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
  const int sender = exchange.ranks[index_of(step.sender)];
  const int receiver = exchange.ranks[index_of(step.receiver)];
  ExplainedMessage message{.sender = sender,
                           .receiver = receiver,
                           .vector = exchange.vector,
                           .pieces = members_of(step.sent->sent, exchange.pieces),
                           .byte_count = exchange.pieces.element_count(step.sent->sent) *
                                         static_cast<std::int64_t>(sizeof(double)),
                           .is_added = step.received->combine == comm::Combine::add};
  for (auto& number : message.pieces) number += exchange.first_piece;
  for (const int number : message.pieces) {
    auto sent = before[index_of(sender)];
    const auto piece = place_of(sent, number);
    if (!has(piece, sent, number)) throw std::logic_error("a schedule sends a piece that its sender lacks");
    take(held[index_of(receiver)], *piece, message.is_added);
  }
  return message;
}

/// The sender's partial sums that now belong to the receiver.
void forget_sent_sums(const GroupExchange& exchange, const MatchedStep& step, AllPieces& held) {
  if (step.received->combine != comm::Combine::add) return;
  const auto kept = step.sent->receive_from == comm::ScheduleStep::no_partner
                        ? std::vector<int>{}
                        : members_of(step.sent->received, exchange.pieces);
  for (const int member : members_of(step.sent->sent, exchange.pieces)) {
    if (std::ranges::find(kept, member) == kept.end())
      give_away(held[index_of(exchange.ranks[index_of(step.sender)])], exchange.first_piece + member);
  }
}

}  // namespace

void add_first_pieces(const GroupExchange& exchange, AllPieces& held) {
  const auto member_count = static_cast<int>(exchange.ranks.size());
  for (int member = 0; member < member_count; ++member) {
    const comm::PieceRun run = exchange.is_sum ? comm::PieceRun{.first = 0, .count = member_count}
                                               : comm::PieceRun{.first = member, .count = 1};
    for (const int piece : members_of(run, exchange.pieces)) {
      held[index_of(exchange.ranks[index_of(member)])].push_back(
          {.vector = exchange.vector,
           .number = exchange.first_piece + piece,
           .summed_ranks = exchange.is_sum ? 1 : 0,
           .rank_count = exchange.is_sum ? member_count : 0});
    }
  }
}

std::vector<std::vector<int>> rounds_of(std::span<const comm::Schedule> schedules) {
  std::vector<std::vector<int>> rounds;
  std::size_t step_count = 0;
  for (const auto& schedule : schedules) {
    rounds.emplace_back(schedule.steps.size(), 0);
    step_count += schedule.steps.size();
  }
  // A step comes after the member's one before it, and together with the other end of its message. Each pass
  // moves steps back until none has to move; without a cycle no step is later than all steps in a row.
  bool has_moved = true;
  const auto move = [&](int& round, int earliest) {
    if (round >= earliest) return;
    if (index_of(earliest) > step_count) throw std::logic_error("the steps of a schedule wait in a circle");
    round = earliest;
    has_moved = true;
  };
  while (has_moved) {
    has_moved = false;
    for (std::size_t member = 0; member < schedules.size(); ++member) {
      for (std::size_t k = 0; k < rounds[member].size(); ++k) {
        if (k > 0) move(rounds[member][k], rounds[member][k - 1] + 1);
        const int receiver = schedules[member].steps[k].send_to;
        if (receiver == comm::ScheduleStep::no_partner) continue;
        auto& other = rounds[index_of(receiver)][receiving_step(schedules, static_cast<int>(member), k)];
        move(other, rounds[member][k]);
        move(rounds[member][k], other);
      }
    }
  }
  return rounds;
}

std::vector<ExchangeRound> replay(std::span<const GroupExchange> groups, const AllPieces& held_before) {
  std::vector<std::vector<std::vector<int>>> rounds;
  int round_count = 0;
  for (const auto& exchange : groups) {
    rounds.push_back(rounds_of(exchange.schedules));
    for (const auto& of_member : rounds.back()) {
      if (!of_member.empty()) round_count = std::max(round_count, of_member.back() + 1);
    }
  }
  std::vector<ExchangeRound> replayed;
  auto held = held_before;
  for (int round = 0; round < round_count; ++round) {
    ExchangeRound now{.messages = {}, .held_after = held};
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const auto steps = steps_of_round(groups[k], rounds[k], round);
      for (const auto& step : steps) forget_sent_sums(groups[k], step, now.held_after);
      for (const auto& step : steps) now.messages.push_back(deliver(groups[k], step, held, now.held_after));
    }
    if (now.messages.empty()) continue;  // all pieces are empty
    std::ranges::sort(now.messages, {}, &ExplainedMessage::sender);
    held = now.held_after;
    replayed.push_back(std::move(now));
  }
  return replayed;
}

}  // namespace cg2d
