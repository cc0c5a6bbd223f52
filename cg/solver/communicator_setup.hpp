#pragma once

// The layout of a matrix on a grid, and the exchanges of a transport, with the program's memory for their buffers: where they are made.

#include <cstdint>
#include <memory>

#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/halo.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The cut of a matrix for a configuration, whose grid must be known: the pieces that its facts name, or else
/// pieces of equal numbers of rows. Local, and the same on every rank. Throws std::invalid_argument for an empty
/// grid, and for facts that name pieces for another number of ranks.
comm::BlockLayout make_layout(const MatrixFacts& matrix, const Configuration& configuration);

/// The configuration with the transport of a group for which nobody has named one: comm::default_transport(), unless that does not go
/// with the other axes, or with one of these values that are crossed with it. Collective; the same on every rank. Throws MpiError.
Configuration with_default_transport(comm::RankGroup& group, const Configuration& configuration,
                                     const AxisValues& values = {});

/// A communicator, or an exchange of halos. Collective. Throws RunError (memory), on every rank alike, where the ranks cannot share
/// as much memory as the transport needs: needed and available bytes. Throws MpiError.
std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      comm::CommunicatorOptions options);
std::unique_ptr<comm::HaloExchange> make_halo(const comm::TransportRow& transport, comm::RankGroup& group,
                                              const comm::DomainLayout& layout, comm::HaloOptions options);

}  // namespace cg2d
