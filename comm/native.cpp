// The transport "native": MPI's own collectives, in their nonblocking forms, on a communicator for each
// process column and row.

#include <algorithm>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/halo.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/prepared_operation.hpp"
#include "comm/rank_group.hpp"
#include "comm/rank_kind.hpp"
#include "comm/transfer.hpp"

namespace cg2d::comm {
namespace {

/// The pieces of a group as MPI's counts and displacements.
struct Cut {
  std::vector<int> counts;
  std::vector<int> starts;

  explicit Cut(const GroupPieces& pieces) {
    for (int member = 0; member < pieces.group_size(); ++member) {
      counts.push_back(int_count(pieces.piece(member).size()));
      starts.push_back(int_count(pieces.piece(member).begin));
    }
  }
};

/// One nonblocking collective of MPI.
class Collective : public PreparedOperation {
 public:
  Collective(RankGroup& group, TrafficCounts& sent, const BlockCollective& collective)
      : group_(group),
        sent_(sent),
        operation_(collective.operation),
        communicator_(group.part(collective.ranks)),
        block_(collective.block),
        own_(collective.pieces.piece(collective.member)),
        cut_(collective.pieces) {}

  /// A group of one has nothing to start.
  void begin() override {
    if (cut_.counts.size() == 1) return;
    request_ = start();
    sent_.add(operation_, handed_over_byte_count());
  }
  void finish() override {
    if (cut_.counts.size() == 1) return;
    wait();
    unpack();
  }

 protected:
  virtual MPI_Request start() = 0;
  /// The size of this rank's contribution.
  virtual int64_t handed_over_byte_count() const = 0;
  /// Called when the collective is complete.
  virtual void unpack() {}

  void wait() {
    if (request_ != MPI_REQUEST_NULL) group_.waiter().wait_all({&request_, 1});
  }
  void test() {
    int is_complete = 0;
    check(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  }
  MPI_Comm communicator() const { return communicator_; }
  std::span<double> block() const { return block_; }
  const IndexRange& own() const { return own_; }
  const Cut& cut() const { return cut_; }

 private:
  RankGroup& group_;
  TrafficCounts& sent_;
  Operation operation_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Comm communicator_;
  std::span<double> block_;
  IndexRange own_;
  Cut cut_;
};

int64_t byte_count_of(int64_t elements) { return elements * static_cast<int64_t>(sizeof(double)); }

class AllGather final : public Collective {
 public:
  using Collective::Collective;

  /// MPI only says when all of it is here.
  void wait_for_part(size_t part) override {
    if (part > 0) wait();
  }
  void progress() override { test(); }

 protected:
  MPI_Request start() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, block().data(), cut().counts.data(),
                          cut().starts.data(), MPI_DOUBLE, communicator(), &request),
          "MPI_Iallgatherv");
    return request;
  }
  int64_t handed_over_byte_count() const override { return byte_count_of(own().size()); }
};

class ReduceScatter final : public Collective {
 public:
  ReduceScatter(RankGroup& group, TrafficCounts& sent, const BlockCollective& collective,
                std::pmr::memory_resource& memory)
      : Collective(group, sent, collective), sum_(memory, static_cast<size_t>(own().size())) {}

 protected:
  MPI_Request start() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ireduce_scatter(block().data(), sum_.span().data(), cut().counts.data(), MPI_DOUBLE, MPI_SUM,
                              communicator(), &request),
          "MPI_Ireduce_scatter");
    return request;
  }
  int64_t handed_over_byte_count() const override {
    return byte_count_of(static_cast<int64_t>(block().size()));
  }
  void unpack() override { std::ranges::copy(sum_.span(), block().begin() + own().begin); }

 private:
  Buffer sum_;  // sum of my piece
};

class AllReduce final : public Collective {
 public:
  using Collective::Collective;

 protected:
  MPI_Request start() override {
    return start_all_reduce(
        communicator(),
        {.values = block().data(), .count = int_count(std::ssize(block())), .type = MPI_DOUBLE}, MPI_SUM);
  }
  int64_t handed_over_byte_count() const override {
    return byte_count_of(static_cast<int64_t>(block().size()));
  }
};

/// No collective of MPI moves one piece: messages do.
class NativeOperations final : public MpiLink {
 public:
  NativeOperations(RankGroup& group, TrafficCounts& sent, std::pmr::memory_resource& memory)
      : MpiLink(group, sent, memory), group_(group), sent_(sent), memory_(memory) {}

  std::unique_ptr<PreparedOperation> collective(const BlockCollective& collective) override {
    if (collective.operation == Operation::collect)
      return std::make_unique<AllGather>(group_, sent_, collective);
    if (collective.form == SumForm::whole_block)
      return std::make_unique<AllReduce>(group_, sent_, collective);
    return std::make_unique<ReduceScatter>(group_, sent_, collective, memory_);
  }

 private:
  RankGroup& group_;
  TrafficCounts& sent_;
  std::pmr::memory_resource& memory_;
};

}  // namespace

TransportRow native_transport() {
  return {
      .name = "native",
      .description = "MPI's own collectives, nonblocking: allgatherv, reduce_scatter or allreduce",
      .counts = CountedTraffic::calls,
      .scalar_order = ScalarOrder::mpi,
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator(
            "native", {group.rank(), group.waiter()}, layout, options, [&](TrafficCounts& sent) {
              return std::make_unique<NativeOperations>(group, sent, *options.memory);
            });
      },
      .make_halo = &make_native_halo,
  };
}

}  // namespace cg2d::comm
