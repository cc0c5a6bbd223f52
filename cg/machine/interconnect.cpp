#include "cg/machine/interconnect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

std::int64_t product_of(const std::vector<int>& extents) {
  std::int64_t product = 1;
  for (const int extent : extents) product = std::min(product * extent, std::int64_t{most_nodes} + 1);
  return product;
}

using Extents = std::vector<int>;
using Links = std::vector<std::int64_t>;

/// One switch that carries everything.
Interconnect crossbar(const Extents& dimensions) {
  return {.node_count = dimensions.front(),
          .link_count = 0,
          .link_name = [](std::int64_t) { return std::string(); },
          .route = [](int, int) { return Links(); }};
}

/// Nodes in a box, the first coordinate fastest, each with two links for each dimension.
class Box {
 public:
  explicit Box(Extents extents) : extents_(std::move(extents)) {}
  [[nodiscard]] int dimension_count() const { return static_cast<int>(extents_.size()); }
  [[nodiscard]] int extent(int dimension) const { return extents_[static_cast<std::size_t>(dimension)]; }
  [[nodiscard]] int coordinate(int node, int dimension) const {
    return node / stride(dimension) % extent(dimension);
  }
  [[nodiscard]] int moved(int node, int dimension, int coordinate_there) const {
    return node + (coordinate_there - coordinate(node, dimension)) * stride(dimension);
  }
  [[nodiscard]] int node_count() const { return static_cast<int>(product_of(extents_)); }
  [[nodiscard]] std::int64_t link_count() const { return std::int64_t{2} * node_count() * dimension_count(); }
  /// second: which of the two.
  [[nodiscard]] std::int64_t link_of(int node, int dimension, bool second) const {
    return 2 * (std::int64_t{node} * dimension_count() + dimension) + (second ? 1 : 0);
  }

 private:
  [[nodiscard]] int stride(int dimension) const {
    return std::accumulate(extents_.begin(), extents_.begin() + dimension, 1, std::multiplies());
  }

  Extents extents_;
};

/// The network of the CP-PACS: the exchanger of each node is on one crossbar for each dimension, which connects all nodes that differ in that
/// coordinate only. A message changes one coordinate after the other.
Interconnect hyper_crossbar(const Extents& extents) {
  const Box box(extents);
  const auto link_name = [box](std::int64_t link) {
    const auto node = link / 2 / box.dimension_count();
    const auto dimension = link / 2 % box.dimension_count();
    return link % 2 == 1 ? fmt::format("crossbar {} to exchanger {}", dimension, node)
                         : fmt::format("exchanger {} to its crossbar {}", node, dimension);
  };
  const auto route = [box](int from, int to) {
    Links links;
    for (int node = from, dimension = 0; dimension < box.dimension_count(); ++dimension) {
      const int there = box.moved(node, dimension, box.coordinate(to, dimension));
      if (there == node) continue;
      links.push_back(box.link_of(node, dimension, false));
      links.push_back(box.link_of(there, dimension, true));
      node = there;
    }
    return links;
  };
  return {box.node_count(), box.link_count(), link_name, route};
}

/// A router at each node, with links to the neighbours in each dimension, around the ends. A message changes one coordinate after the other, each
/// the shorter way.
Interconnect torus(const Extents& extents) {
  const Box box(extents);
  const auto link_name = [box](std::int64_t link) {
    return fmt::format("router {}, {}{}", link / 2 / box.dimension_count(), link % 2 == 1 ? '-' : '+',
                       link / 2 % box.dimension_count());
  };
  const auto route = [box](int from, int to) {
    Links links;
    for (int node = from, dimension = 0; dimension < box.dimension_count(); ++dimension) {
      const int extent = box.extent(dimension);
      const int upwards = (box.coordinate(to, dimension) - box.coordinate(from, dimension) + extent) % extent;
      const bool is_upwards = 2 * upwards <= extent;
      for (int hops = is_upwards ? upwards : extent - upwards; hops > 0; --hops) {
        links.push_back(box.link_of(node, dimension, !is_upwards));
        const int next = (box.coordinate(node, dimension) + (is_upwards ? 1 : extent - 1)) % extent;
        node = box.moved(node, dimension, next);
      }
    }
    return links;
  };
  return {box.node_count(), box.link_count(), link_name, route};
}

/// Two levels: each leaf switch has a link to each spine switch. The spine of a message follows from its destination.
Interconnect fat_tree(const Extents& dimensions) {
  const int nodes_per_leaf = dimensions[0];
  const int leaves = dimensions[1];
  const int spines = dimensions[2];
  const auto link_name = [=](std::int64_t link) {
    const auto spine = link / 2 % spines;
    const auto leaf = link / 2 / spines;
    return link % 2 == 0 ? fmt::format("leaf {} to spine {}", leaf, spine)
                         : fmt::format("spine {} to leaf {}", spine, leaf);
  };
  const auto route = [=](int from, int to) -> Links {
    const int leaf = from / nodes_per_leaf;
    const int other = to / nodes_per_leaf;
    if (leaf == other) return {};
    const int spine = to % spines;
    return {2 * (std::int64_t{leaf} * spines + spine), 2 * (std::int64_t{other} * spines + spine) + 1};
  };
  return {nodes_per_leaf * leaves, std::int64_t{2} * leaves * spines, link_name, route};
}

/// Routers of a group are all linked to each other, and so are groups, by one link of each pair: router (other group modulo routers) has it. A message
/// takes the shortest way.
Interconnect dragonfly(const Extents& dimensions) {
  const int nodes_per_router = dimensions[0];
  const int routers = dimensions[1];
  const int groups = dimensions[2];
  const auto local_count = std::int64_t{groups} * routers * routers;
  const auto link_name = [=](std::int64_t link) {
    if (link >= local_count)
      return fmt::format("group {} to group {}", (link - local_count) / groups,
                         (link - local_count) % groups);
    return fmt::format("group {}, router {} to {}", link / routers / routers, link / routers % routers,
                       link % routers);
  };
  const auto route = [=](int from, int to) {
    Links links;
    const auto add_local = [&](int group, int router, int other) {
      if (router != other) links.push_back((std::int64_t{group} * routers + router) * routers + other);
    };
    const int router = from / nodes_per_router % routers;
    const int group = from / nodes_per_router / routers;
    const int last_router = to / nodes_per_router % routers;
    const int last_group = to / nodes_per_router / routers;
    add_local(group, router, group == last_group ? last_router : last_group % routers);
    if (group == last_group) return links;
    links.push_back(local_count + std::int64_t{group} * groups + last_group);
    add_local(last_group, group % routers, last_router);
    return links;
  };
  return {static_cast<int>(product_of(dimensions)), local_count + std::int64_t{groups} * groups, link_name,
          route};
}

struct InterconnectRow {
  std::string_view name;
  std::string_view dimensions;  ///< meaning of each, with commas between them; empty: any number, of extents
  Interconnect (*make)(const Extents& dimensions);
};
constexpr std::array interconnects{
    InterconnectRow{.name = "crossbar", .dimensions = "nodes", .make = &crossbar},
    InterconnectRow{.name = "hyper-crossbar", .dimensions = "", .make = &hyper_crossbar},
    InterconnectRow{.name = "torus", .dimensions = "", .make = &torus},
    InterconnectRow{.name = "fat-tree",
                    .dimensions = "nodes of a leaf switch, leaf switches, spine switches",
                    .make = &fat_tree},
    InterconnectRow{.name = "dragonfly",
                    .dimensions = "nodes of a router, routers of a group, groups",
                    .make = &dragonfly}};

const InterconnectRow* row_named(std::string_view name) {
  const auto* const found = std::ranges::find(interconnects, name, &InterconnectRow::name);
  return found == interconnects.end() ? nullptr : found;
}

/// "4x8x8"; 0 stands for what is no number.
Extents extents_in(const std::string& text) {
  Extents extents;
  for (const auto& extent : split_at(text, 'x')) extents.push_back(number_from<int>(extent).value_or(0));
  return extents;
}

}  // namespace

std::vector<std::string> interconnect_names() { return names_of(interconnects); }

std::string why_no_interconnect(const InterconnectShape& shape) {
  const auto* const row = row_named(shape.topology);
  if (row == nullptr)
    return fmt::format("no topology \"{}\"; valid: {}{}", shape.topology,
                       fmt::join(interconnect_names(), ", "),
                       did_you_mean(shape.topology, interconnect_names()));
  const bool is_open = row == &interconnects.front() && shape.dimensions.empty();
  const auto needed = std::ranges::count(row->dimensions, ',') + 1;
  if (row->dimensions.empty() ? shape.dimensions.empty() : std::ssize(shape.dimensions) != needed && !is_open)
    return fmt::format("{} has the dimensions: {}", row->name,
                       row->dimensions.empty() ? "one extent or more, such as 4x8x8" : row->dimensions);
  if (std::ranges::any_of(shape.dimensions, [](int extent) { return extent < 1; }) ||
      product_of(shape.dimensions) > most_nodes)
    return fmt::format("the product of the dimensions must be within 1 ... {}", most_nodes);
  return {};
}

InterconnectShape interconnect_from(std::string_view text) {
  const auto colon = text.find(':');
  InterconnectShape shape{.topology = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) shape.dimensions = extents_in(std::string(text.substr(colon + 1)));
  if (const auto fault = why_no_interconnect(shape); !fault.empty()) throw InputError(fault);
  return shape;
}

std::string text_of(const InterconnectShape& shape) {
  return shape.dimensions.empty() ? shape.topology
                                  : fmt::format("{}:{}", shape.topology, fmt::join(shape.dimensions, "x"));
}

Interconnect make_interconnect(const InterconnectShape& shape, int nodes) {
  const auto inner =
      row_named(shape.topology)->make(shape.dimensions.empty() ? Extents{nodes} : shape.dimensions);
  const auto node_count = inner.node_count;
  const auto first_inner = std::int64_t{2} * node_count;  // the links between nodes and network come first
  const auto link_name = [=](std::int64_t link) {
    if (link < node_count) return fmt::format("node {} to the network", link);
    if (link < first_inner) return fmt::format("the network to node {}", link - node_count);
    return inner.link_name(link - first_inner);
  };
  const auto route = [=](int from, int to) {
    Links links{from};
    for (const auto link : inner.route(from, to)) links.push_back(first_inner + link);
    links.push_back(std::int64_t{node_count} + to);
    return links;
  };
  return {node_count, first_inner + inner.link_count, link_name, route};
}

}  // namespace cg2d
