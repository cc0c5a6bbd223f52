// The topology where cg2d is built without hwloc.

#include "cg/machine/topology.hpp"

namespace cg2d {

Topology machine_topology() { return topology_from_files(); }

}  // namespace cg2d
