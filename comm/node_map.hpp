#pragma once

// The nodes of a group, ranks that share memory, and the contents of the messages between them.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// The nodes of a group of ranks, numbered in the order of their first ranks.
class NodeMap {
 public:
  /// node_of[rank]: any number that is the same for all ranks of a node.
  explicit NodeMap(const std::vector<int>& node_of);

  int node_count() const { return static_cast<int>(ranks_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<size_t>(rank)]; }
  /// In growing order.
  const std::vector<int>& ranks_of(int node) const { return ranks_[static_cast<size_t>(node)]; }
  /// The rank's place among those of its node.
  int place_of(int rank) const { return place_of_[static_cast<size_t>(rank)]; }
  /// The rank of `node` that sends messages to the other node and receives those from there. Each of a node's
  /// ranks takes its share of the other nodes.
  int carrier(int node, int other_node) const;

 private:
  std::vector<int> node_of_;
  std::vector<int> place_of_;
  std::vector<std::vector<int>> ranks_;
};

/// As the system says it, or "unknown".
std::string host_name();

/// Cuts the ranks of each host, in their order, into nodes of `ranks_per_node` (the last one may have fewer);
/// 0: each host is one node. Collective.
NodeMap make_node_map(RankGroup& group, int ranks_per_node);

/// The ranks that share a host with this one, itself included. Collective.
std::vector<int> ranks_of_my_host(RankGroup& group);

// ---------------------------------------------------------------- messages between nodes

// One message per pair of nodes and operation. No MPI.

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
