// The transport "native": MPI's own collectives, in their nonblocking forms, on a communicator for each
// process column and row; and its halos, by one neighbourhood collective.

#include <algorithm>
#include <vector>

#include "comm/endpoint.hpp"
#include "comm/halo.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d::comm {
namespace {

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce };

CollectiveKind collective_kind(const BlockCollective& collective) {
  if (collective.operation == Operation::collect) return CollectiveKind::all_gather;
  return collective.form == SumForm::whole_block ? CollectiveKind::all_reduce
                                                 : CollectiveKind::reduce_scatter;
}

/// One nonblocking collective of MPI. A group of one has nothing to start.
class NativeCollective final : public PreparedOperation {
 public:
  NativeCollective(RankGroup& group, TrafficCounts& sent, const BlockCollective& collective,
                   std::pmr::memory_resource& memory)
      : group_(group),
        sent_(sent),
        operation_(collective.operation),
        kind_(collective_kind(collective)),
        communicator_(group.part(collective.ranks)),
        block_(collective.block),
        own_(collective.pieces.piece(collective.member)) {
    for (int member = 0; member < collective.pieces.group_size(); ++member) {
      counts_.push_back(int_count(collective.pieces.piece(member).size()));
      starts_.push_back(int_count(collective.pieces.piece(member).begin));
    }
    if (kind_ == CollectiveKind::reduce_scatter) sum_ = Buffer(memory, static_cast<size_t>(own_.size()));
  }

  void begin() override {
    if (counts_.size() == 1) return;
    const auto handed_over_count = kind_ == CollectiveKind::all_gather ? own_.size() : std::ssize(block_);
    if (kind_ == CollectiveKind::all_gather) {
      check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, block_.data(), counts_.data(), starts_.data(),
                            MPI_DOUBLE, communicator_, &request_),
            "MPI_Iallgatherv");
    } else if (kind_ == CollectiveKind::reduce_scatter) {
      check(MPI_Ireduce_scatter(block_.data(), sum_.span().data(), counts_.data(), MPI_DOUBLE, MPI_SUM,
                                communicator_, &request_),
            "MPI_Ireduce_scatter");
    } else {
      request_ = start_all_reduce(
          communicator_, {.values = block_.data(), .count = int_count(block_.size()), .type = MPI_DOUBLE},
          MPI_SUM);
    }
    sent_.add(operation_, handed_over_count * static_cast<int64_t>(sizeof(double)));
  }
  /// MPI only says when all of it is here.
  void wait_for_part(size_t part) override {
    if (part > 0) wait();
  }
  void progress() override {
    int is_complete = 0;
    check(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  }
  void finish() override {
    if (counts_.size() == 1) return;
    wait();
    std::ranges::copy(sum_.span(), block_.begin() + own_.begin);
  }

 private:
  void wait() {
    if (request_ != MPI_REQUEST_NULL) group_.waiter().wait_all({&request_, 1});
  }

  RankGroup& group_;
  TrafficCounts& sent_;
  Operation operation_;
  CollectiveKind kind_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Comm communicator_;
  std::span<double> block_;
  IndexRange own_;
  std::vector<int> counts_;  // of the pieces, and their starts, as MPI takes them
  std::vector<int> starts_;
  Buffer sum_;  // of my piece, by a reduce-scatter
};

/// No collective of MPI moves one piece: messages do.
class NativeOperations final : public Endpoint {
 public:
  using Endpoint::Endpoint;

  std::unique_ptr<PreparedOperation> collective(const BlockCollective& collective) override {
    return std::make_unique<NativeCollective>(shared_.group, shared_.sent, collective, shared_.memory);
  }
};

// ---------------------------------------------------------------- halos: one neighbourhood collective, nonblocking

/// The partners of a rank as a communicator of MPI. A blocking call: set-up only.
OwnedCommunicator partners_of(RankGroup& group, const std::vector<HaloPart>& parts) {
  std::vector<int> partners;
  partners.reserve(parts.size());
  for (const auto& part : parts) partners.push_back(part.partner);
  const int count = int_count(partners.size());
  constexpr int keeps_numbers = 0;
  MPI_Comm communicator = MPI_COMM_NULL;
  check(MPI_Dist_graph_create_adjacent(group.handle(), count, partners.data(), MPI_UNWEIGHTED, count,
                                       partners.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, keeps_numbers,
                                       &communicator),
        "MPI_Dist_graph_create_adjacent");
  return OwnedCommunicator(communicator);
}

/// One direction: the parts one after the other in a buffer.
struct PackedParts {
  std::vector<int> counts;
  std::vector<int> starts;
  Buffer points;

  PackedParts(const std::vector<HaloPart>& parts, Box HaloPart::*box, std::pmr::memory_resource& memory) {
    int64_t size = 0;
    for (const auto& part : parts) {
      counts.push_back(int_count((part.*box).size()));
      starts.push_back(int_count(size));
      size += (part.*box).size();
    }
    points = Buffer(memory, static_cast<size_t>(size));
  }
  std::span<double> part(size_t number) const {
    return points.span().subspan(static_cast<size_t>(starts[number]), static_cast<size_t>(counts[number]));
  }
};

class NativeHalo final : public HaloExchange {
 public:
  NativeHalo(RankGroup& group, const DomainLayout& layout, const HaloOptions& options)
      : group_(group),
        box_(layout.box(group.rank())),
        parts_(halo_parts(layout, group.rank(), options.shape)),
        communicator_(partners_of(group, parts_)),
        operand_(*options.memory, static_cast<size_t>(box_.size())),
        sent_(parts_, &HaloPart::sent, *options.memory),
        received_(parts_, &HaloPart::received, *options.memory) {
    for (size_t number = 0; number < parts_.size(); ++number) {
      const auto& box = parts_[number].received;
      views_.push_back(HaloView::of(box, received_.part(number).data(), box));
    }
  }

  [[nodiscard]] std::span<double> operand() override { return operand_.span(); }
  void start() override {
    for (size_t number = 0; number < parts_.size(); ++number)
      pack_part(operand_.span(), box_, parts_[number].sent, sent_.part(number));
    check(MPI_Ineighbor_alltoallv(sent_.points.span().data(), sent_.counts.data(), sent_.starts.data(),
                                  MPI_DOUBLE, received_.points.span().data(), received_.counts.data(),
                                  received_.starts.data(), MPI_DOUBLE, communicator_.get(), &request_),
          "MPI_Ineighbor_alltoallv");
    if (!parts_.empty())
      sent_counts().add(Operation::halo, static_cast<int64_t>(sent_.points.span().size_bytes()));
  }
  void progress() override {
    int is_complete = 0;
    check(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
  }
  void finish() override { group_.waiter().wait_all({&request_, 1}); }
  std::span<const HaloView> views() const override { return views_; }

 private:
  RankGroup& group_;
  Box box_;
  std::vector<HaloPart> parts_;
  OwnedCommunicator communicator_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Buffer operand_;
  PackedParts sent_;
  PackedParts received_;
  std::vector<HaloView> views_;
};

}  // namespace

TransportRow native_transport() {
  return {
      .name = "native",
      .description = "MPI's own collectives, nonblocking: allgatherv, reduce_scatter or allreduce",
      .uses_collectives = true,
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator(
            "native", {group.rank(), group.waiter()}, layout, options, [&](TrafficCounts& sent) {
              return std::make_unique<NativeOperations>(group, sent, *options.memory);
            });
      },
      .make_halo = [](RankGroup& group, const DomainLayout& layout, const HaloOptions& options)
          -> std::unique_ptr<HaloExchange> { return std::make_unique<NativeHalo>(group, layout, options); },
  };
}

}  // namespace cg2d::comm
