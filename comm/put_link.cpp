#include "comm/put_link.hpp"

#include <array>
#include <cassert>
#include <utility>

namespace cg2d::comm {
namespace {

/// The elements that so many take: everything has cache lines of its own, so that polling a flag does not slow down writing data.
int64_t whole_lines(int64_t count) {
  constexpr int64_t elements_per_line = 8;
  return (count + elements_per_line - 1) / elements_per_line * elements_per_line;
}

int64_t give_away(PutLink::Shared& shared, int64_t count) {
  const auto offset = shared.used;
  shared.used += whole_lines(count);
  assert(shared.used <= std::ssize(shared.port->memory()));
  return offset;
}

/// The number of buffers and flags of a message, used in turns: invariants 3 and 4.
size_t turns_of(Operation operation) {
  return operation == Operation::dot || operation == Operation::halo ? 2 : 1;
}

class PutMessages final : public Messages {
 public:
  PutMessages(PutLink::Shared& shared, Operation operation, const std::vector<Message>& sends,
              const std::vector<Message>& receives)
      : shared_(shared),
        operation_(operation),
        turns_(turns_of(operation)),
        sends_(sends),
        receives_(receives),
        targets_(sends.size()),
        arrivals_(receives.size()) {
    const auto memory = shared.port->memory();
    std::vector<PutSlot> mine;
    for (size_t which = 0; which < receives.size(); ++which) {
      const auto& message = receives[which];
      if (message.ranges.empty()) continue;
      const bool is_packed = message.buffer.empty();
      for (size_t turn = 0; turn < turns_; ++turn) {
        arrivals_[which][turn] = {.sender = message.partner,
                                  .offset = is_packed ? give_away(shared, message.element_count())
                                                      : message.buffer.data() - memory.data(),
                                  .is_block = is_packed ? 0 : 1,
                                  .flag = give_away(shared, 1)};
        mine.push_back(arrivals_[which][turn]);
      }
    }
    find_targets(shared.port->gather(mine));
  }

  void begin() override {
    if (turns_ == 1) wait_for_readers();
    ++number_;
  }
  bool runs_at_once() const override { return operation_ == Operation::dot; }
  void start_receive(size_t /*which*/) override {}
  void start_send(size_t which) override {
    const auto& message = sends_[which];
    if (message.ranges.empty()) return;
    const auto& target = targets_[which][turn()];
    auto packed = target.offset;
    for (const auto& range : message.ranges) {
      const auto values =
          message.buffer.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
      shared_.port->put(message.partner, target.is_block != 0 ? target.offset + range.begin : packed, values);
      packed += range.size();
    }
    shared_.port->complete(message.partner);
    shared_.port->notify(message.partner, target.flag, number_);
    shared_.sent.add(operation_, message.element_count() * static_cast<int64_t>(sizeof(double)));
  }
  bool has_arrived(size_t which) override {
    if (!receives_[which].ranges.empty() && !shared_.port->has(arrivals_[which][turn()].flag, number_))
      return false;
    wait_for_receive(which);  // ends at once, and makes the values seen
    return true;
  }
  void wait_for_receive(size_t which) override {
    const auto& message = receives_[which];
    if (message.ranges.empty()) return;
    shared_.port->wait_for(message.partner, arrivals_[which][turn()].flag, number_);
  }
  /// A message is complete, and has left, as soon as it is sent.
  void wait_for_send(size_t /*which*/) override {}
  void end() override {
    if (operation_ == Operation::dot) ++shared_.scalar_sums;
  }
  std::span<const double> received(size_t which) const override {
    return shared_.port->memory().subspan(static_cast<size_t>(arrivals_[which][turn()].offset),
                                          static_cast<size_t>(receives_[which].element_count()));
  }

 private:
  size_t turn() const { return static_cast<size_t>(number_ % turns_); }

  /// slots: of every rank. Messages between two ranks are in the same order on both.
  void find_targets(const std::vector<std::vector<PutSlot>>& slots) {
    std::vector<size_t> next(slots.size(), 0);
    for (size_t which = 0; which < sends_.size(); ++which) {
      if (sends_[which].ranges.empty()) continue;
      const auto receiver = static_cast<size_t>(sends_[which].partner);
      for (size_t turn = 0; turn < turns_; ++turn) {
        while (slots[receiver][next[receiver]].sender != shared_.rank) ++next[receiver];
        targets_[which][turn] = slots[receiver][next[receiver]++];
      }
    }
  }
  /// Returns when no rank reads the data of the last run any more: invariant 2.
  void wait_for_readers() {
    if (number_ > 0 && shared_.scalar_sums == scalars_at_run_) shared_.port->wait_for_all();
    scalars_at_run_ = shared_.scalar_sums;
  }

  PutLink::Shared& shared_;
  Operation operation_;
  size_t turns_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<std::array<PutSlot, 2>> targets_;   // [send][turn], at the receiver
  std::vector<std::array<PutSlot, 2>> arrivals_;  // [receive][turn], on this rank
  uint64_t number_ = 0;
  uint64_t scalars_at_run_ = 0;
};

/// Elements that the receives of a schedule take beside the block.
int64_t received_size(const Schedule& schedule, const GroupPieces& pieces, int64_t turns) {
  int64_t size = 0;
  for (const auto& step : schedule.steps) {
    if (step.receive_from == ScheduleStep::no_partner) continue;
    size += turns * whole_lines(1);
    if (step.combine == Combine::add) size += turns * whole_lines(pieces.element_count(step.received));
  }
  return size;
}

}  // namespace

int64_t put_memory_size(const BlockLayout& layout, int rank, const CommunicatorOptions& options) {
  int64_t size = whole_lines(layout.own_piece(rank).size()) + whole_lines(1);
  for (const auto line : {Line::process_row, Line::process_column}) {
    const auto pieces = block_pieces(layout, line, rank);
    size += whole_lines(pieces.size());
    if (options.mirrored || line == Line::process_column)
      size += received_size(collection_schedule(layout, rank, line), pieces, 1);
    if (options.mirrored || line == Line::process_row)
      size += received_size(summation_schedule(layout, rank, options.sum_form, line), pieces, 1);
    if (options.mirrored) size += whole_lines(pieces.size()) + whole_lines(1);
  }
  const int rank_count = layout.grid().rank_count();
  for (const auto count : Communicator::scalar_counts) {
    const auto scalars = static_cast<int64_t>(count);
    size += whole_lines(scalars) + received_size(all_reduce_schedule(rank_count, rank),
                                                 GroupPieces::of_scalars(rank_count, scalars), 2);
  }
  return size;
}

int64_t put_halo_memory_size(const DomainLayout& layout, int rank, const HaloShape& shape) {
  int64_t size = 0;
  for (const auto& part : halo_parts(layout, rank, shape))
    size += static_cast<int64_t>(turns_of(Operation::halo)) *
            (whole_lines(part.received.size()) + whole_lines(1));
  return size;
}

PutLink::PutLink(std::unique_ptr<PutPort> port, int rank, TrafficCounts& sent)
    : shared_{.port = std::move(port), .rank = rank, .sent = sent} {}

std::span<double> PutLink::allocate(size_t count) {
  const auto offset = give_away(shared_, static_cast<int64_t>(count));
  return shared_.port->memory().subspan(static_cast<size_t>(offset), count);
}

std::unique_ptr<Messages> PutLink::prepare(Operation operation, const std::vector<Message>& sends,
                                           const std::vector<Message>& receives) {
  return std::make_unique<PutMessages>(shared_, operation, sends, receives);
}

}  // namespace cg2d::comm
