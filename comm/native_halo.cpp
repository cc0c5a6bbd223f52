// Halos of the transport "native": one neighbourhood collective of MPI, nonblocking.

#include <algorithm>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/halo.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {
namespace {

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

std::unique_ptr<HaloExchange> make_native_halo(RankGroup& group, const DomainLayout& layout,
                                               const HaloOptions& options) {
  return std::make_unique<NativeHalo>(group, layout, options);
}

}  // namespace cg2d::comm
