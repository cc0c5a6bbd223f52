// Two-sided messages: persistent requests between fixed buffers, all made at set-up.

#include <algorithm>
#include <cassert>
#include <numeric>
#include <vector>

#include "comm/doorbells.hpp"
#include "comm/huge_page_vector.hpp"
#include "comm/transports.hpp"

namespace cg2d::comm {
namespace {

// Messages of one operation between two ranks arrive in the order in which they were sent: one tag each is
// enough.
int tag_of(Operation operation) { return static_cast<int>(operation); }

int mpi_count(std::int64_t count) { return static_cast<int>(count); }

/// The elements of up to two ranges of one buffer as one MPI datatype.
OwnedDatatype datatype_of(const std::vector<IndexRange>& ranges) {
  std::vector<int> lengths;
  std::vector<int> starts;
  for (const auto& range : ranges) {
    lengths.push_back(mpi_count(range.size()));
    starts.push_back(mpi_count(range.begin));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(MPI_Type_indexed(mpi_count(static_cast<std::int64_t>(ranges.size())), lengths.data(), starts.data(),
                         MPI_DOUBLE, &type),
        "MPI_Type_indexed");
  OwnedDatatype owned(type);
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return owned;
}

/// Buffer, count and datatype as MPI's calls take them. A single range needs no datatype of its own.
struct Message {
  double* data = nullptr;
  int count = 0;
  OwnedDatatype own_type;
  MPI_Datatype type = MPI_DOUBLE;
  std::int64_t byte_count = 0;
};

Message message_of(std::span<double> buffer, const std::vector<IndexRange>& ranges) {
  Message message;
  for (const auto& range : ranges)
    message.byte_count += range.size() * static_cast<std::int64_t>(sizeof(double));
  if (ranges.size() == 1) {
    message.data = buffer.data() + ranges[0].begin;
    message.count = mpi_count(ranges[0].size());
  } else {
    message.data = buffer.data();
    message.count = 1;
    message.own_type = datatype_of(ranges);
    message.type = message.own_type.get();
  }
  return message;
}

/// A persistent send or receive; idle (never started, never waited for) when there is nothing to move.
class Transfer {
 public:
  Transfer() = default;

  static Transfer send(MPI_Comm communicator, Message message, int destination, int tag) {
    Transfer transfer(destination);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Send_init(message.data, message.count, message.type, destination, tag, communicator, &request),
          "MPI_Send_init");
    transfer.adopt(request, std::move(message));
    return transfer;
  }

  static Transfer receive(MPI_Comm communicator, Message message, int source, int tag) {
    Transfer transfer(source);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Recv_init(message.data, message.count, message.type, source, tag, communicator, &request),
          "MPI_Recv_init");
    transfer.adopt(request, std::move(message));
    return transfer;
  }

  [[nodiscard]] bool idle() const { return handle_ == MPI_REQUEST_NULL; }
  [[nodiscard]] std::int64_t byte_count() const { return message_.byte_count; }
  [[nodiscard]] MPI_Request handle() const { return handle_; }
  [[nodiscard]] int partner() const { return partner_; }

  void start() {
    if (!idle()) check(MPI_Start(&handle_), "MPI_Start");
  }

 private:
  explicit Transfer(int partner) : partner_(partner) {}

  void adopt(MPI_Request request, Message message) {
    request_ = OwnedRequest(request);
    handle_ = request;
    message_ = std::move(message);
  }

  int partner_ = ScheduleStep::no_partner;
  OwnedRequest request_;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  Message message_;
};

/// One step of a schedule, ready to run.
struct Step {
  Transfer send;
  Transfer receive;
  HugePageVector scratch;           // what is received in order to be added
  std::vector<IndexRange> targets;  // where in the block the scratch is added; empty: received in place
};

std::vector<Step> steps_of(const RankGroup& group, Operation operation, const Schedule& schedule,
                           const GroupPieces& pieces, std::span<double> block,
                           const std::vector<int>& ranks) {
  std::vector<Step> steps;
  for (const auto& planned : schedule.steps) {
    Step step;
    const auto rank_of = [&](int member) { return ranks[static_cast<std::size_t>(member)]; };
    if (planned.send_to != ScheduleStep::no_partner && pieces.element_count(planned.sent) > 0) {
      step.send = Transfer::send(group.handle(), message_of(block, pieces.ranges(planned.sent)),
                                 rank_of(planned.send_to), tag_of(operation));
    }
    if (planned.receive_from != ScheduleStep::no_partner && pieces.element_count(planned.received) > 0) {
      auto ranges = pieces.ranges(planned.received);
      if (planned.combine == Combine::place) {
        step.receive = Transfer::receive(group.handle(), message_of(block, ranges),
                                         rank_of(planned.receive_from), tag_of(operation));
      } else {
        const auto count = pieces.element_count(planned.received);
        step.scratch.resize(static_cast<std::size_t>(count));
        step.receive = Transfer::receive(group.handle(),
                                         message_of(step.scratch, {IndexRange{.begin = 0, .end = count}}),
                                         rank_of(planned.receive_from), tag_of(operation));
        step.targets = std::move(ranges);
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void add_received(const Step& step, std::span<double> block) {
  const double* source = step.scratch.data();
  for (const auto& range : step.targets) {
    double* target = block.data() + range.begin;
    const auto count = range.size();
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) target[k] += source[k];
    source += count;
  }
}

std::vector<int> process_column_ranks(const BlockLayout& layout, int rank) {
  std::vector<int> ranks;
  for (int row = 0; row < layout.grid().rows; ++row) {
    ranks.push_back(layout.grid().rank_at(row, layout.grid().column_of(rank)));
  }
  return ranks;
}

std::vector<int> process_row_ranks(const BlockLayout& layout, int rank) {
  std::vector<int> ranks;
  for (int column = 0; column < layout.grid().columns; ++column) {
    ranks.push_back(layout.grid().rank_at(layout.grid().row_of(rank), column));
  }
  return ranks;
}

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// One piece per rank, each of `values` numbers that are all of it: what a sum of scalars runs on.
GroupPieces scalar_pieces(int rank_count, std::int64_t value_count) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(rank_count) + 1, value_count);
  starts.front() = 0;
  return {BlockLayout({.columns = rank_count, .rows = 1}, std::move(starts)), 0, rank_count};
}

std::size_t size_of(const IndexRange& range) { return static_cast<std::size_t>(range.size()); }

std::span<double> part_of(HugePageVector& block, const IndexRange& range) {
  return std::span(block).subspan(static_cast<std::size_t>(range.begin), size_of(range));
}

Message whole(std::span<double> buffer) {
  return message_of(buffer, {IndexRange{.begin = 0, .end = static_cast<std::int64_t>(buffer.size())}});
}

class TwoSided final : public Communicator {
 public:
  TwoSided(RankGroup& group, const BlockLayout& layout, const CommunicatorOptions& options)
      : group_(group),
        column_block_(size_of(layout.column_block(layout.grid().column_of(group.rank())))),
        partial_(size_of(layout.row_block(layout.grid().row_of(group.rank())))) {
    const int rank = group.rank();
    const auto grid = layout.grid();
    const auto columns = collection_pieces(layout, rank);
    const auto rows = summation_pieces(layout, rank);
    piece_ = part_of(column_block_, columns.piece(grid.row_of(rank)));
    row_piece_ = part_of(partial_, rows.piece(grid.column_of(rank)));

    collect_steps_ = steps_of(group, Operation::collect, collection_schedule(layout, rank), columns,
                              column_block_, process_column_ranks(layout, rank));
    sum_steps_ = steps_of(group, Operation::sum, summation_schedule(layout, rank, options.sum_form), rows,
                          partial_, process_row_ranks(layout, rank));
    make_shuffle(layout, rank);
    if (options.mirrored) make_mirrored(layout, rank, options.sum_form);
    make_scalar_sums();
    if (group.waiter().mode() == WaitMode::yield) bells_ = std::make_unique<Doorbells>(group);
  }

  [[nodiscard]] std::string_view name() const override { return "two-sided"; }
  [[nodiscard]] std::span<double> piece() override { return piece_; }
  [[nodiscard]] std::span<const double> column_block() const override { return column_block_; }
  [[nodiscard]] std::span<double> partial() override { return partial_; }
  [[nodiscard]] std::span<const double> result() const override { return result_; }
  [[nodiscard]] std::uint64_t waited_ticks() const override { return group_.waiter().waited_ticks(); }

  void collect() override { run(Operation::collect, collect_steps_, column_block_); }
  void sum() override { run(Operation::sum, sum_steps_, partial_); }

  void shuffle() override {
    if (!shuffle_receive_.idle()) shuffle_receive_.start();
    start_send(Operation::shuffle, shuffle_send_);
    wait_for(shuffle_send_, shuffle_receive_);
  }

  [[nodiscard]] std::span<const double> row_block() const override {
    return row_block_is_piece_ ? piece_ : std::span<const double>(row_block_);
  }
  [[nodiscard]] std::span<double> column_partial() override { return column_partial_; }
  [[nodiscard]] std::span<const double> column_result() const override { return column_result_; }

  void collect_rows() override {
    if (row_block_is_piece_) return;
    if (!unshuffle_receive_.idle()) unshuffle_receive_.start();
    start_send(Operation::shuffle, unshuffle_send_);
    wait_for(unshuffle_send_, unshuffle_receive_);
    if (stays_) std::copy(piece_.begin(), piece_.end(), row_operand_.begin());
    run(Operation::collect, collect_row_steps_, row_block_);
  }

  void sum_columns() override { run(Operation::sum, sum_column_steps_, column_partial_); }

  void sum_scalars(std::span<double> values) override {
    assert(!values.empty() && values.size() <= largest_scalar_count);
    auto& prepared = scalar_sums_[values.size() - 1];
    std::copy(values.begin(), values.end(), prepared.values.begin());
    run(Operation::dot, prepared.steps, prepared.values);
    std::copy_n(prepared.values.begin(), values.size(), values.begin());
  }

 private:
  struct ScalarSum {
    std::vector<double> values;
    std::vector<Step> steps;
  };

  void make_shuffle(const BlockLayout& layout, int rank) {
    const int destination = layout.shuffle_destination(rank);
    const int source = layout.shuffle_source(rank);
    if (destination == rank) {
      result_ = row_piece_;  // the piece is where it belongs: no message, no copy
      return;
    }
    shuffled_.resize(piece_.size());
    result_ = shuffled_;
    const int tag = tag_of(Operation::shuffle);
    if (!row_piece_.empty())
      shuffle_send_ = Transfer::send(group_.handle(), whole(row_piece_), destination, tag);
    if (!shuffled_.empty())
      shuffle_receive_ = Transfer::receive(group_.handle(), whole(shuffled_), source, tag);
  }

  void make_mirrored(const BlockLayout& layout, int rank, SumForm form) {
    const auto grid = layout.grid();
    const auto columns = collection_pieces(layout, rank);
    const auto rows = summation_pieces(layout, rank);
    stays_ = layout.shuffle_destination(rank) == rank;
    row_block_is_piece_ = stays_ && rows.group_size() == 1;
    column_partial_.resize(column_block_.size());
    column_result_ = part_of(column_partial_, columns.piece(grid.row_of(rank)));
    sum_column_steps_ = steps_of(group_, Operation::sum, mirrored_summation_schedule(layout, rank, form),
                                 columns, column_partial_, process_column_ranks(layout, rank));
    if (row_block_is_piece_) return;
    row_block_.resize(partial_.size());
    row_operand_ = part_of(row_block_, rows.piece(grid.column_of(rank)));
    collect_row_steps_ = steps_of(group_, Operation::collect, mirrored_collection_schedule(layout, rank),
                                  rows, row_block_, process_row_ranks(layout, rank));
    // The shuffle backwards: who sends to me there gets from me here.
    if (stays_) return;
    const int tag = tag_of(Operation::shuffle);
    if (!piece_.empty())
      unshuffle_send_ = Transfer::send(group_.handle(), whole(piece_), layout.shuffle_source(rank), tag);
    if (!row_operand_.empty()) {
      unshuffle_receive_ =
          Transfer::receive(group_.handle(), whole(row_operand_), layout.shuffle_destination(rank), tag);
    }
  }

  void make_scalar_sums() {
    const auto schedule = all_reduce_schedule(group_.size(), group_.rank());
    for (std::size_t count = 1; count <= largest_scalar_count; ++count) {
      auto& prepared = scalar_sums_[count - 1];
      prepared.values.resize(count);
      prepared.steps = steps_of(group_, Operation::dot, schedule,
                                scalar_pieces(group_.size(), static_cast<std::int64_t>(count)),
                                prepared.values, all_ranks(group_.size()));
    }
  }

  void run(Operation operation, std::vector<Step>& steps, std::span<double> block) {
    // Receives that are added have buffers of their own and receives in place go where nothing is read or
    // sent before they are complete... but for the last step of an all-reduce, which replaces what was sent:
    // so only the former are posted ahead.
    for (auto& step : steps) {
      if (!step.targets.empty()) step.receive.start();
    }
    for (auto& step : steps) {
      if (step.targets.empty()) step.receive.start();
      start_send(operation, step.send);
      wait_for(step.send, step.receive);
      add_received(step, block);
    }
  }

  void start_send(Operation operation, Transfer& send) {
    if (send.idle()) return;
    send.start();
    if (bells_) bells_->ring(Bell::sent, send.partner());
    count_sent(operation, send.byte_count());
  }

  void wait_for(const Transfer& send, const Transfer& receive) {
    wait_for(receive, Bell::sent);
    // A long message is complete for its sender only when its receiver has fetched it: the sender may sleep
    // until then, so it is rung before this rank waits for anything else.
    if (bells_ && !receive.idle()) bells_->ring(Bell::taken, receive.partner());
    wait_for(send, Bell::taken);
  }

  void wait_for(const Transfer& transfer, Bell bell) {
    if (transfer.idle()) return;
    MPI_Request request = transfer.handle();
    if (bells_ && bells_->reaches(transfer.partner())) {
      group_.waiter().wait(request, *bells_, bell);
    } else {
      group_.waiter().wait_all({&request, 1});
    }
  }

  RankGroup& group_;
  std::unique_ptr<Doorbells> bells_;  // only where waiting ranks yield
  HugePageVector column_block_;
  HugePageVector partial_;
  HugePageVector shuffled_;
  std::span<double> piece_;      // in column_block_
  std::span<double> row_piece_;  // in partial_
  std::span<double> result_;     // shuffled_, or row_piece_ where nothing has to move
  std::vector<Step> collect_steps_;
  std::vector<Step> sum_steps_;
  Transfer shuffle_send_;
  Transfer shuffle_receive_;
  std::array<ScalarSum, largest_scalar_count> scalar_sums_;

  // Only when mirrored.
  HugePageVector row_block_;
  HugePageVector column_partial_;
  std::span<double> row_operand_;    // my row piece in row_block_
  std::span<double> column_result_;  // my column piece in column_partial_
  std::vector<Step> collect_row_steps_;
  std::vector<Step> sum_column_steps_;
  Transfer unshuffle_send_;
  Transfer unshuffle_receive_;
  bool stays_ = false;               // my column piece is my row piece
  bool row_block_is_piece_ = false;  // and the whole row block: row_block_ is empty
};

}  // namespace

TransportRow two_sided_transport() {
  return {
      .name = "two-sided",
      .description = "persistent messages between fixed buffers, butterflies of test-and-yield",
      .why_unavailable = [](RankGroup&) { return std::string(); },
      .make = [](RankGroup& group, const BlockLayout& layout, const CommunicatorOptions& options)
          -> std::unique_ptr<Communicator> { return std::make_unique<TwoSided>(group, layout, options); },
  };
}

}  // namespace cg2d::comm
