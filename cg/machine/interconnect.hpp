#pragma once

// Topologies of networks: which links a message takes from one node to another.

#include <cstdint>
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

/// Nodes, and the links between the switches that connect them, numbered from 0 on.
struct SwitchedNodes {
  int node_count = 0;
  std::int64_t link_count = 0;
  std::function<std::string(std::int64_t link)> link_name{};
  std::function<std::vector<std::int64_t>(int from, int to)> route{};
};

/// The links of a network, each of one direction, numbered from 0 on; and those that a message takes. Each node has a link into the network
/// and one out of it. Immutable.
class Interconnect {
 public:
  /// shape: with nothing wrong. nodes: of a crossbar without dimensions.
  Interconnect(const InterconnectShape& shape, int nodes);

  [[nodiscard]] int node_count() const { return inner_.node_count; }
  [[nodiscard]] std::int64_t link_count() const { return first_inner_link() + inner_.link_count; }
  /// "node 3 to the network", "leaf 0 to spine 1".
  [[nodiscard]] std::string link_name(std::int64_t link) const;
  /// The links of a message between two different nodes, in their order: the shortest way, always the same.
  [[nodiscard]] std::vector<std::int64_t> route(int from, int to) const;

 private:
  [[nodiscard]] std::int64_t first_inner_link() const { return std::int64_t{2} * inner_.node_count; }

  SwitchedNodes inner_;
};

/// crossbar, hyper-crossbar, torus, fat-tree, dragonfly.
std::vector<std::string> interconnect_names();

/// "torus:4x8x8", "crossbar". Throws InputError with the valid forms.
InterconnectShape interconnect_from(std::string_view text);
std::string text_of(const InterconnectShape& shape);
/// The fault of the shape, with the topologies or dimensions that would be right; empty: nothing.
std::string why_no_interconnect(const InterconnectShape& shape);

}  // namespace cg2d
