// The transport "shared" between ranks of MPI: where their memory comes from, and the messages between nodes.

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "comm/endpoint.hpp"
#include "comm/shared_memory.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {
namespace {

/// Each rank adds up its own piece, in place: there is no whole block of sums.
constexpr std::array shared_sum_forms{SumForm::reduce_scatter};

std::unique_ptr<Communicator> make_shared(RankGroup& group, const BlockLayout& layout,
                                          const CommunicatorOptions& options) {
  const auto place = make_node_place(group, options.ranks_per_node, [&](const NodeMap& nodes) {
    return shared_part_byte_count(layout, nodes, group.rank(), options);
  });
  const bool ranks_sleep = group.maximum(int64_t{group.waiter().mode() == WaitMode::yield ? 1 : 0}) == 1;
  return make_shared_communicator(
      place, {.ranks_sleep = ranks_sleep, .make_link = mpi_endpoint(group, *options.memory)}, layout,
      options);
}

std::unique_ptr<HaloExchange> make_halo(RankGroup& group, const DomainLayout& layout,
                                        const HaloOptions& options) {
  auto place = make_node_place(group, options.ranks_per_node, [&](const NodeMap& /*nodes*/) {
    return shared_halo_byte_count(layout, group.rank());
  });
  return make_shared_halo(std::move(place), mpi_endpoint(group, *options.memory), layout, options);
}

}  // namespace

TransportRow shared_transport() {
  return {
      .name = "shared",
      .description =
          "vectors in the node's shared memory, read in place; between nodes a message for each pair",
      .reads_in_place = true,
      .sum_forms = shared_sum_forms,
      .shares_memory = true,
      .is_default_on_a_node = true,
      .why_unavailable = &why_not_mapped,
      .make = &make_shared,
      .make_halo = &make_halo,
  };
}

}  // namespace cg2d::comm
