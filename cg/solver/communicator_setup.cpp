#include "cg/solver/communicator_setup.hpp"

#include <algorithm>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {

comm::BlockLayout make_layout(const MatrixFacts& matrix, const Configuration& configuration) {
  if (!matrix.piece_starts.empty()) return {configuration.grid, matrix.piece_starts};
  return equal_pieces(matrix.key.order, configuration.grid);
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

comm::BlockLayout equal_pieces(int64_t order, const comm::ProcessGrid& grid) {
  return comm::BlockLayout::even(order, grid);
}

comm::CommunicatorOptions with_page_memory(comm::CommunicatorOptions options) {
  options.memory = &page_memory();
  return options;
}

std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      const comm::CommunicatorOptions& options) {
  try {
    return transport.make(group, layout, with_page_memory(options));
  } catch (const comm::SharedMemoryError& error) {  // on every rank alike
    throw RunError(ExitCode::memory,
                   "--transport {}: the ranks need {} of shared memory, {} are available on the node "
                   "with least; take a smaller class, more nodes or --transport two-sided",
                   transport.name, format_bytes(error.needed_bytes()),
                   format_bytes(group.minimum(memory_room().available_bytes)));
  }
}

}  // namespace cg2d
