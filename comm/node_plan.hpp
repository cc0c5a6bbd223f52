#pragma once

// The contents of the messages between nodes where the ranks of a node share memory: one message per pair of
// nodes and operation. No MPI.

#include <cstdint>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/node_map.hpp"

namespace cg2d::comm {

/// The part of p that a collection takes from node `from` to node `to`, as ranges of p: the pieces of ranks
/// of `from` that belong to a column block of ranks of `to` or, when mirrored, to a row block. No range is
/// empty, none touches the next one.
std::vector<IndexRange> collected_ranges(const BlockLayout& layout, const NodeMap& nodes, bool mirrored,
                                         int from, int to);

/// The process row (column) over which this rank's column piece is summed.
int summing_group(const BlockLayout& layout, Line over, int rank);
/// The number of ranks on the node, by process row (column).
std::vector<uint64_t> ranks_on_node(const BlockLayout& layout, const NodeMap& nodes, Line over, int node);
/// One rank's piece in the sums that one node sends to another, which are those over the sender's ranks.
struct NodeSum {
  int rank = 0;        ///< whose piece of q
  int64_t offset = 0;  ///< offset of the first element, in the message
};

/// The sums for ranks of `to` to whose pieces ranks of `from` contribute, in the order of the ranks. Empty
/// pieces are left out.
struct NodeSums {
  std::vector<NodeSum> pieces;
  int64_t element_count = 0;
};
NodeSums sums_between(const BlockLayout& layout, const NodeMap& nodes, Line over, int from, int to);

}  // namespace cg2d::comm
