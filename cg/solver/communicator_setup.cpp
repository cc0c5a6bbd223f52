#include "cg/solver/communicator_setup.hpp"

#include <algorithm>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {
namespace {

/// The result of make(), which takes memory that the ranks share. Throws RunError, on every rank alike, where there is too little.
template <typename Make>
auto sharing_memory(const comm::TransportRow& transport, comm::RankGroup& group, const Make& make) {
  try {
    return make();
  } catch (const comm::SharedMemoryError& error) {  // on every rank alike
    throw RunError(ExitCode::memory,
                   "--transport {}: the ranks need {} of shared memory, {} are available on the node "
                   "with least; take a smaller class or matrix, more nodes or --transport two-sided",
                   transport.name, format_bytes(error.needed_bytes()),
                   format_bytes(group.minimum(memory_room().available_bytes)));
  }
}

}  // namespace

comm::BlockLayout make_layout(const MatrixFacts& matrix, const Configuration& configuration) {
  if (!matrix.piece_starts.empty()) return {configuration.grid, matrix.piece_starts};
  return comm::BlockLayout::even(matrix.key.order, configuration.grid);
}

Configuration with_default_transport(comm::RankGroup& group, const Configuration& configuration,
                                     const AxisValues& values) {
  auto changed = configuration;
  changed.transport = comm::default_transport(group, configuration.ranks_per_node).name;
  const bool goes_with_all = std::ranges::all_of(crossed(configuration, values), [&](auto one) {
    one.transport = changed.transport;
    return why_refused(one).empty();
  });
  return goes_with_all ? changed : configuration;
}

std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      comm::CommunicatorOptions options) {
  options.memory = &page_memory();
  return sharing_memory(transport, group, [&] { return transport.make(group, layout, options); });
}

std::unique_ptr<comm::HaloExchange> make_halo(const comm::TransportRow& transport, comm::RankGroup& group,
                                              const comm::DomainLayout& layout, comm::HaloOptions options) {
  options.memory = &page_memory();
  return sharing_memory(transport, group, [&] { return transport.make_halo(group, layout, options); });
}

}  // namespace cg2d
