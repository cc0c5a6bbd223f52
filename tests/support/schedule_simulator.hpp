#pragma once

// Executes the schedules of one group in one process, without MPI, and checks that they fit together.

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d::test {

/// When a message counts as sent: at once (the system keeps it), or only when its receiver has taken it.
enum class Delivery { eager, rendezvous };

/// One group of ranks.
class GroupSimulation {
 public:
  /// schedules[m] and blocks[m] are member m's; a block holds pieces.size() values.
  GroupSimulation(comm::GroupPieces pieces, const std::vector<comm::Schedule>& schedules,
                  std::vector<std::vector<double>> blocks)
      : pieces_(std::move(pieces)) {
    for (size_t m = 0; m < schedules.size(); ++m) {
      members_.push_back({.steps = schedules[m].steps,
                          .block = std::move(blocks[m]),
                          .placed_count = std::vector<int>(static_cast<size_t>(pieces_.size()))});
    }
  }

  /// Runs all members, each as far as it gets, until none can continue. Expects that all end and no message
  /// is left.
  void run(Delivery delivery) {
    delivery_ = delivery;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t m = 0; m < members_.size(); ++m) moved |= advance(static_cast<int>(m));
    }
    for (size_t m = 0; m < members_.size(); ++m) {
      EXPECT_EQ(members_[m].next_step, members_[m].steps.size()) << "member " << m << " waits for ever";
    }
    for (const auto& [way, messages] : under_way_) {
      EXPECT_TRUE(messages.empty()) << "nobody takes a message from " << way.first << " to " << way.second;
    }
  }

  const std::vector<double>& block(int member) const { return at(member).block; }
  comm::Traffic sent(int member) const { return at(member).sent; }
  /// How often each element was received in place.
  const std::vector<int>& placed_count(int member) const { return at(member).placed_count; }

 private:
  struct Message {
    comm::PieceRun run;
    std::vector<double> values;
  };
  struct Member {
    std::vector<comm::ScheduleStep> steps;
    std::vector<double> block;
    std::vector<int> placed_count;
    comm::Traffic sent{};
    size_t next_step = 0;
    bool in_step = false;
    bool send_done = false;
    bool receive_done = false;
  };

  const Member& at(int member) const { return members_[static_cast<size_t>(member)]; }

  template <typename Visit>
  void for_each_element(const comm::PieceRun& run, const Visit& visit) const {
    for (const auto& range : pieces_.ranges(run)) {
      for (auto k = range.begin; k < range.end; ++k) visit(static_cast<size_t>(k));
    }
  }

  bool advance(int number) {
    auto& member = members_[static_cast<size_t>(number)];
    if (member.next_step == member.steps.size()) return false;
    const auto& step = member.steps[member.next_step];
    bool moved = false;
    if (!member.in_step) {
      begin_step(number, member, step);
      moved = true;
    }
    if (!member.receive_done) moved |= try_receive(number, member, step);
    if (member.send_done && member.receive_done) {
      member.in_step = false;
      ++member.next_step;
      moved = true;
    }
    return moved;
  }

  void begin_step(int number, Member& member, const comm::ScheduleStep& step) {
    constexpr int nobody = comm::ScheduleStep::no_partner;
    const bool sends = step.send_to != nobody && pieces_.element_count(step.sent) > 0;
    const bool receives = step.receive_from != nobody && pieces_.element_count(step.received) > 0;
    EXPECT_NE(step.send_to, number);
    EXPECT_NE(step.receive_from, number);
    member.in_step = true;
    member.send_done = !sends || delivery_ == Delivery::eager;
    member.receive_done = !receives;
    if (sends && receives && step.combine == comm::Combine::place) expect_disjoint(step);
    if (!sends) return;
    Message message{.run = step.sent, .values = {}};
    for_each_element(step.sent, [&](size_t k) { message.values.push_back(member.block[k]); });
    member.sent +=
        {.message_count = 1, .byte_count = static_cast<int64_t>(message.values.size() * sizeof(double))};
    under_way_[{number, step.send_to}].push_back(std::move(message));
  }

  /// A message received in place must not overwrite elements that the same step still sends.
  void expect_disjoint(const comm::ScheduleStep& step) const {
    std::vector<bool> is_sent(static_cast<size_t>(pieces_.size()));
    for_each_element(step.sent, [&](size_t k) { is_sent[k] = true; });
    bool overlap = false;
    for_each_element(step.received, [&](size_t k) { overlap = overlap || is_sent[k]; });
    EXPECT_FALSE(overlap);
  }

  bool try_receive(int number, Member& member, const comm::ScheduleStep& step) {
    auto& messages = under_way_[{step.receive_from, number}];
    if (messages.empty()) return false;
    const Message message = std::move(messages.front());  // between two ranks messages do not overtake
    messages.pop_front();
    EXPECT_EQ(message.run, step.received) << "member " << number << " expects other pieces than it gets";
    size_t next = 0;
    for_each_element(step.received, [&](size_t k) {
      if (next == message.values.size()) return;
      if (step.combine == comm::Combine::add) {
        member.block[k] += message.values[next++];
      } else {
        member.block[k] = message.values[next++];
        ++member.placed_count[k];
      }
    });
    member.receive_done = true;
    members_[static_cast<size_t>(step.receive_from)].send_done = true;
    return true;
  }

  comm::GroupPieces pieces_;
  std::vector<Member> members_;
  std::map<std::pair<int, int>, std::deque<Message>> under_way_;
  Delivery delivery_ = Delivery::eager;
};

}  // namespace cg2d::test
