#pragma once

// The nodes of a group: ranks that share memory.

#include <vector>

#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// The nodes of a group of ranks, numbered in the order of their first ranks.
class NodeMap {
 public:
  /// node_of[rank]: any number that is the same for all ranks of a node.
  explicit NodeMap(const std::vector<int>& node_of);

  int rank_count() const { return static_cast<int>(node_of_.size()); }
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

/// Cuts the ranks of each host, in their order, into nodes of `ranks_per_node` (the last one may have fewer);
/// 0: each host is one node. Collective.
NodeMap make_node_map(RankGroup& group, int ranks_per_node);

/// The ranks that share a host with this one, itself included. Collective.
std::vector<int> ranks_of_my_host(RankGroup& group);

}  // namespace cg2d::comm
