#pragma once

// The protocol of halos in the transport "put", without MPI: points are written into the receiver's memory.

#include <cstdint>
#include <memory>

#include "comm/halo.hpp"
#include "comm/put_operations.hpp"

namespace cg2d::comm {

/// Elements of a port's memory that the exchange of that rank takes.
int64_t put_halo_memory_size(const DomainLayout& layout, int rank, const HaloShape& shape);

/// An exchange in the memory of a port. Each part has two buffers and two flags at its receiver, used in turns:
///
/// 1. A flag gets the number of an exchange only after its points are complete.
/// 2. Nobody asks before it writes. A rank that starts exchange n + 2 has finished n + 1, for which its partner has
///    put points there, so has started n + 1, so is done with n, whose buffers are written now. (A rank is a
///    partner of its partners: halo_parts().)
///
/// `rank`: the number of this rank among those of the port. Collective over them.
std::unique_ptr<HaloExchange> make_put_halo(std::unique_ptr<PutPort> port, int rank,
                                            const DomainLayout& layout, const HaloOptions& options);

}  // namespace cg2d::comm
