#include "cg/machine/interconnect.hpp"

#include <fmt/ranges.h>

#include <array>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

using Extents = std::vector<int>;
using Links = std::vector<std::string>;

int64_t product_of(const Extents& extents) {
  int64_t product = 1;
  for (const int extent : extents) product = std::min(product * extent, int64_t{most_nodes} + 1);
  return product;
}

/// One switch that carries everything.
Interconnect crossbar(const Extents& dimensions) {
  return {dimensions.front(), [](int, int) { return Links(); }};
}

/// A box of nodes whose first coordinate grows fastest. A message changes one coordinate after the other: visit(dimension, from, to,
/// node_at, links) adds the links of each change; node_at(coordinate): the node on the message's way that has it.
template <typename Visit>
Interconnect box_of_nodes(const Extents& extents, const Visit& visit) {
  return {static_cast<int>(product_of(extents)), [=](int node, int destination) {
            Links links;
            int stride = 1;
            for (size_t dimension = 0; dimension < extents.size(); ++dimension) {
              const int from = node / stride % extents[dimension];
              const int to = destination / stride % extents[dimension];
              const auto node_at = [=](int coordinate) { return node + (coordinate - from) * stride; };
              if (from != to) visit(dimension, from, to, node_at, links);
              node = node_at(to);
              stride *= extents[dimension];
            }
            return links;
          }};
}

/// The network of the CP-PACS: the exchanger of each node is on one crossbar for each dimension, which connects all nodes that differ in that
/// coordinate only.
Interconnect hyper_crossbar(const Extents& extents) {
  return box_of_nodes(extents, [](size_t dimension, int from, int to, const auto& node_at, Links& links) {
    links.push_back(fmt::format("exchanger {} to its crossbar {}", node_at(from), dimension));
    links.push_back(fmt::format("crossbar {} to exchanger {}", dimension, node_at(to)));
  });
}

/// A router at each node, with links to the neighbours in each dimension, around the ends. A message goes the shorter way.
Interconnect torus(const Extents& extents) {
  return box_of_nodes(
      extents, [extents](size_t dimension, int from, int to, const auto& node_at, Links& links) {
        const int extent = extents[dimension];
        const bool is_upwards = 2 * ((to - from + extent) % extent) <= extent;
        const int step = is_upwards ? 1 : extent - 1;
        for (int here = from; here != to; here = (here + step) % extent)
          links.push_back(fmt::format("router {}, {}{}", node_at(here), is_upwards ? '+' : '-', dimension));
      });
}

/// Two levels: each leaf switch has a link to each spine switch. The spine of a message follows from its destination.
Interconnect fat_tree(const Extents& dimensions) {
  const int nodes_per_leaf = dimensions[0];
  const int spines = dimensions[2];
  return {nodes_per_leaf * dimensions[1], [=](int from, int to) -> Links {
            const int leaf = from / nodes_per_leaf;
            const int other = to / nodes_per_leaf;
            if (leaf == other) return {};
            const int spine = to % spines;
            return {fmt::format("leaf {} to spine {}", leaf, spine),
                    fmt::format("spine {} to leaf {}", spine, other)};
          }};
}

/// Routers of a group are all linked to each other, and so are groups, by one link of each pair: router (other group modulo routers) has it. A message
/// takes the shortest way.
Interconnect dragonfly(const Extents& dimensions) {
  const int nodes_per_router = dimensions[0];
  const int routers = dimensions[1];
  const auto route = [=](int from, int to) {
    Links links;
    const auto add_local = [&](int group, int router, int other) {
      if (router != other) links.push_back(fmt::format("group {}, router {} to {}", group, router, other));
    };
    const int router = from / nodes_per_router % routers;
    const int group = from / nodes_per_router / routers;
    const int last_router = to / nodes_per_router % routers;
    const int last_group = to / nodes_per_router / routers;
    add_local(group, router, group == last_group ? last_router : last_group % routers);
    if (group == last_group) return links;
    links.push_back(fmt::format("group {} to group {}", group, last_group));
    add_local(last_group, group % routers, last_router);
    return links;
  };
  return {static_cast<int>(product_of(dimensions)), route};
}

struct InterconnectRow {
  std::string_view name;
  std::string_view dimensions;  ///< meaning of each, with commas between them; empty: any number, of extents
  Interconnect (*make)(const Extents& dimensions);
};
constexpr std::array interconnects{
    InterconnectRow{"crossbar", "nodes", &crossbar},
    InterconnectRow{"hyper-crossbar", "", &hyper_crossbar},
    InterconnectRow{"torus", "", &torus},
    InterconnectRow{"fat-tree", "nodes of a leaf switch, leaf switches, spine switches", &fat_tree},
    InterconnectRow{"dragonfly", "nodes of a router, routers of a group, groups", &dragonfly},
};

}  // namespace

std::vector<std::string> interconnect_names() { return names_of(interconnects); }

std::string why_no_interconnect(const InterconnectShape& shape) {
  const auto* const row = row_named(interconnects, shape.topology);
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
  if (colon != std::string_view::npos) {
    // 0 stands for what is no number.
    for (const auto& extent : split_at(text.substr(colon + 1), 'x'))
      shape.dimensions.push_back(number_from<int>(extent).value_or(0));
  }
  if (const auto fault = why_no_interconnect(shape); !fault.empty()) throw InputError(fault);
  return shape;
}

std::string text_of(const InterconnectShape& shape) {
  return shape.dimensions.empty() ? shape.topology
                                  : fmt::format("{}:{}", shape.topology, fmt::join(shape.dimensions, "x"));
}

Interconnect make_interconnect(const InterconnectShape& shape, int nodes) {
  const auto inner = row_named(interconnects, shape.topology)
                         ->make(shape.dimensions.empty() ? Extents{nodes} : shape.dimensions);
  return {inner.node_count, [inner](int from, int to) {
            auto links = inner.route(from, to);
            links.insert(links.begin(), fmt::format("node {} to the network", from));
            links.push_back(fmt::format("the network to node {}", to));
            return links;
          }};
}

}  // namespace cg2d
