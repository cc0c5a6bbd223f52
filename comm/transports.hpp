#pragma once

// The rows of the transport table, each defined in the transport's own file.

#include "comm/communicator.hpp"

namespace cg2d::comm {

TransportRow two_sided_transport();
TransportRow native_transport();
TransportRow put_transport();
TransportRow shared_transport();

}  // namespace cg2d::comm
