// The transport "two-sided": persistent messages between fixed buffers, all made at set-up.

#include <memory>

#include "comm/endpoint.hpp"
#include "comm/halo_messages.hpp"
#include "comm/prepared_operation.hpp"

namespace cg2d::comm {

TransportRow two_sided_transport() {
  return {
      .name = "two-sided",
      .description = "persistent messages between fixed buffers, butterflies of test-and-yield",
      .make = [](RankGroup& group, const BlockLayout& layout,
                 const CommunicatorOptions& options) -> std::unique_ptr<Communicator> {
        return make_buffered_communicator("two-sided", {group.rank(), group.waiter()}, layout, options,
                                          mpi_endpoint(group, *options.memory));
      },
      .make_halo = [](RankGroup& group, const DomainLayout& layout,
                      const HaloOptions& options) -> std::unique_ptr<HaloExchange> {
        return make_message_halo(mpi_endpoint(group, *options.memory), group.rank(), layout, options);
      },
  };
}

}  // namespace cg2d::comm
