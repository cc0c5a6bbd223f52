#pragma once

// Topologies of networks: which links a message takes from one node to another.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// A topology and its size.
struct InterconnectShape {
  std::string topology = "crossbar";
  std::vector<int> dimensions{};  ///< of a crossbar none: as many nodes as are needed
};

/// The largest number of nodes.
inline constexpr int most_nodes = 1 << 20;

/// The nodes of a network, and the ways between them.
struct Interconnect {
  int node_count = 0;
  /// The names of the links of a message between two different nodes, each of one direction, in their order: the shortest way, always the same.
  /// "node 3 to the network", "leaf 0 to spine 1".
  std::function<std::vector<std::string>(int from, int to)> route{};
};

/// shape: with nothing wrong. nodes: of a crossbar without dimensions. Each node has a link into the network and one out of it.
Interconnect make_interconnect(const InterconnectShape& shape, int nodes);

/// crossbar, hyper-crossbar, torus, fat-tree, dragonfly.
std::vector<std::string> interconnect_names();

/// "torus:4x8x8", "crossbar". Throws InputError with the valid forms.
InterconnectShape interconnect_from(std::string_view text);
std::string text_of(const InterconnectShape& shape);
/// The fault of the shape, with the topologies or dimensions that would be right; empty: nothing.
std::string why_no_interconnect(const InterconnectShape& shape);

}  // namespace cg2d
