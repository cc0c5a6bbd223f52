#pragma once

// Topologies of networks: which links a message takes from one node to another.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"

namespace cg2d {

/// A topology and its size.
struct InterconnectShape {
  std::string topology = "crossbar";
  std::vector<int> dimensions{};  ///< of a crossbar none: as many nodes as are needed
};

/// The links of a network, each of one direction, numbered from 0 on; and those that a message takes. Each node has a link into the network
/// and one out of it. Immutable.
class Interconnect : public Interface {
 public:
  [[nodiscard]] virtual int node_count() const = 0;
  [[nodiscard]] virtual std::int64_t link_count() const = 0;
  /// "node 3 to the network", "leaf 0 to spine 1".
  [[nodiscard]] virtual std::string link_name(std::int64_t link) const = 0;
  /// The links of a message between two different nodes, in their order: the shortest way, always the same.
  [[nodiscard]] virtual std::vector<std::int64_t> route(int from, int to) const = 0;
};

/// The largest number of nodes.
inline constexpr int most_nodes = 1 << 20;

/// A row of the table.
struct InterconnectRow {
  std::string_view name;
  std::string_view dimensions;  ///< meaning of each, with commas between them; empty: any number, of extents
  std::string_view description;
  std::unique_ptr<Interconnect> (*make)(const std::vector<int>& dimensions);
};
/// crossbar, hyper-crossbar, torus, fat-tree, dragonfly.
std::span<const InterconnectRow> interconnect_table();
std::vector<std::string> interconnect_names();

/// "torus:4x8x8", "crossbar". Throws InputError with the valid forms.
InterconnectShape interconnect_from(std::string_view text);
std::string text_of(const InterconnectShape& shape);
/// The fault of the shape, with the topologies or dimensions that would be right; empty: nothing.
std::string why_no_interconnect(const InterconnectShape& shape);
/// The interconnect of a shape with nothing wrong. nodes: of a crossbar without dimensions.
std::unique_ptr<Interconnect> make_interconnect(const InterconnectShape& shape, int nodes);

}  // namespace cg2d
