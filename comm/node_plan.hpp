#pragma once

// What goes from node to node where the ranks of a node share memory: one message per pair of nodes and
// operation. No MPI.

#include <cstdint>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/node_map.hpp"

namespace cg2d::comm {

/// The part of p that a collection takes from one node to another, as ranges of p: the pieces of ranks there
/// that belong to a column block of ranks here, or, when mirrored, to a row block. No range is empty, none
/// touches the next one.
std::vector<IndexRange> collected_ranges(const BlockLayout& layout, const NodeMap& nodes, bool mirrored,
                                         int from, int to);

/// Over which ranks a piece of q is summed: the process row of its row owner, or the process column of its
/// column owner.
enum class SummedOver { process_row, process_column };

/// The process row (column) over which this rank's column piece is summed.
int summing_group(const BlockLayout& layout, SummedOver over, int rank);
/// Its ranks, in growing order.
std::vector<int> ranks_of_group(const BlockLayout& layout, SummedOver over, int group);
/// Of each process row (column), by its number: how many of its ranks are on the node.
std::vector<std::uint64_t> ranks_on_node(const BlockLayout& layout, const NodeMap& nodes, SummedOver over,
                                         int node);
/// The part of q of which each of its ranks holds partial sums.
IndexRange block_of_group(const BlockLayout& layout, SummedOver over, int group);

/// One rank's piece in the sums that one node sends to another: the node's ranks have been added up.
struct NodeSum {
  int rank = 0;             ///< whose piece of q
  std::int64_t offset = 0;  ///< of its first element in the message
};

/// The sums for ranks of `to` to whose pieces ranks of `from` contribute, in the order of the ranks. Empty
/// pieces are left out.
struct NodeSums {
  std::vector<NodeSum> pieces;
  std::int64_t element_count = 0;
};
NodeSums sums_between(const BlockLayout& layout, const NodeMap& nodes, SummedOver over, int from, int to);

}  // namespace cg2d::comm
