#include "cg/machine/interconnect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
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

/// The links between a node and the network have the lowest numbers.
class WithNodeLinks : public Interconnect {
 public:
  explicit WithNodeLinks(int node_count) : node_count_(node_count) {}
  [[nodiscard]] int node_count() const final { return node_count_; }
  [[nodiscard]] std::int64_t link_count() const final {
    return 2 * std::int64_t{node_count_} + inner_link_count();
  }
  [[nodiscard]] std::string link_name(std::int64_t link) const final {
    if (link < node_count_) return fmt::format("node {} to the network", link);
    if (link < 2 * std::int64_t{node_count_})
      return fmt::format("the network to node {}", link - node_count_);
    return inner_link_name(link - 2 * std::int64_t{node_count_});
  }
  [[nodiscard]] std::vector<std::int64_t> route(int from, int to) const final {
    std::vector<std::int64_t> links{from};
    add_inner_links(from, to, links);
    links.push_back(std::int64_t{node_count_} + to);
    return links;
  }

 protected:
  [[nodiscard]] virtual std::int64_t inner_link_count() const = 0;
  [[nodiscard]] virtual std::string inner_link_name(std::int64_t link) const = 0;
  virtual void add_inner_links(int from, int to, std::vector<std::int64_t>& links) const = 0;
  /// The number of an inner link among all.
  [[nodiscard]] std::int64_t numbered(std::int64_t inner_link) const {
    return 2 * std::int64_t{node_count_} + inner_link;
  }

 private:
  int node_count_;
};

/// One switch that carries everything.
class Crossbar final : public WithNodeLinks {
 public:
  explicit Crossbar(const std::vector<int>& dimensions) : WithNodeLinks(dimensions.front()) {}

 private:
  [[nodiscard]] std::int64_t inner_link_count() const override { return 0; }
  [[nodiscard]] std::string inner_link_name(std::int64_t /*link*/) const override { return {}; }
  void add_inner_links(int /*from*/, int /*to*/, std::vector<std::int64_t>& /*links*/) const override {}
};

/// Nodes in a box, the first coordinate fastest.
class Box {
 public:
  explicit Box(std::vector<int> extents) : extents_(std::move(extents)) {}
  [[nodiscard]] int dimension_count() const { return static_cast<int>(extents_.size()); }
  [[nodiscard]] int extent(int dimension) const { return extents_[static_cast<std::size_t>(dimension)]; }
  [[nodiscard]] int stride(int dimension) const {
    int product = 1;
    for (int before = 0; before < dimension; ++before) product *= extent(before);
    return product;
  }
  [[nodiscard]] int coordinate(int node, int dimension) const {
    return node / stride(dimension) % extent(dimension);
  }
  [[nodiscard]] int moved(int node, int dimension, int coordinate_there) const {
    return node + (coordinate_there - coordinate(node, dimension)) * stride(dimension);
  }

 private:
  std::vector<int> extents_;
};

/// Nodes in a box, each with two links for each dimension.
class WithBox : public WithNodeLinks {
 protected:
  explicit WithBox(const std::vector<int>& extents)
      : WithNodeLinks(static_cast<int>(product_of(extents))), box_(extents) {}

  [[nodiscard]] const Box& box() const { return box_; }
  /// second: which of the two.
  [[nodiscard]] std::int64_t link_of(int node, int dimension, bool second) const {
    return numbered(2 * (std::int64_t{node} * box_.dimension_count() + dimension) + (second ? 1 : 0));
  }

 private:
  [[nodiscard]] std::int64_t inner_link_count() const final {
    return std::int64_t{2} * node_count() * box_.dimension_count();
  }
  [[nodiscard]] std::string inner_link_name(std::int64_t link) const final {
    return name_of_link(link / 2 / box_.dimension_count(), link / 2 % box_.dimension_count(), link % 2 == 1);
  }
  [[nodiscard]] virtual std::string name_of_link(std::int64_t node, std::int64_t dimension,
                                                 bool second) const = 0;

  Box box_;
};

/// The network of the CP-PACS: the exchanger of each node is on one crossbar for each dimension, which connects all nodes that differ in that
/// coordinate only. A message changes one coordinate after the other.
class HyperCrossbar final : public WithBox {
 public:
  explicit HyperCrossbar(const std::vector<int>& dimensions) : WithBox(dimensions) {}

 private:
  [[nodiscard]] std::string name_of_link(std::int64_t node, std::int64_t dimension,
                                         bool second) const override {
    return second ? fmt::format("crossbar {} to exchanger {}", dimension, node)
                  : fmt::format("exchanger {} to its crossbar {}", node, dimension);
  }
  void add_inner_links(int from, int to, std::vector<std::int64_t>& links) const override {
    int node = from;
    for (int dimension = 0; dimension < box().dimension_count(); ++dimension) {
      const int there = box().moved(node, dimension, box().coordinate(to, dimension));
      if (there == node) continue;
      links.push_back(link_of(node, dimension, false));
      links.push_back(link_of(there, dimension, true));
      node = there;
    }
  }
};

/// A router at each node, with links to the neighbours in each dimension, around the ends. A message changes one coordinate after the other, each
/// the shorter way.
class Torus final : public WithBox {
 public:
  explicit Torus(const std::vector<int>& dimensions) : WithBox(dimensions) {}

 private:
  [[nodiscard]] std::string name_of_link(std::int64_t node, std::int64_t dimension,
                                         bool second) const override {
    return fmt::format("router {}, {}{}", node, second ? '-' : '+', dimension);
  }
  void add_inner_links(int from, int to, std::vector<std::int64_t>& links) const override {
    int node = from;
    for (int dimension = 0; dimension < box().dimension_count(); ++dimension) {
      const int extent = box().extent(dimension);
      const int upwards =
          (box().coordinate(to, dimension) - box().coordinate(from, dimension) + extent) % extent;
      const bool is_upwards = 2 * upwards <= extent;
      for (int hops = is_upwards ? upwards : extent - upwards; hops > 0; --hops) {
        links.push_back(link_of(node, dimension, !is_upwards));
        const int next = (box().coordinate(node, dimension) + (is_upwards ? 1 : extent - 1)) % extent;
        node = box().moved(node, dimension, next);
      }
    }
  }
};

/// Two levels: each leaf switch has a link to each spine switch. The spine of a message follows from its destination.
class FatTree final : public WithNodeLinks {
 public:
  explicit FatTree(const std::vector<int>& dimensions)
      : WithNodeLinks(dimensions[0] * dimensions[1]),
        nodes_per_leaf_(dimensions[0]),
        leaves_(dimensions[1]),
        spines_(dimensions[2]) {}

 private:
  [[nodiscard]] std::int64_t inner_link_count() const override { return std::int64_t{2} * leaves_ * spines_; }
  [[nodiscard]] std::string inner_link_name(std::int64_t link) const override {
    const auto spine = link / 2 % spines_;
    const auto leaf = link / 2 / spines_;
    return link % 2 == 0 ? fmt::format("leaf {} to spine {}", leaf, spine)
                         : fmt::format("spine {} to leaf {}", spine, leaf);
  }
  void add_inner_links(int from, int to, std::vector<std::int64_t>& links) const override {
    const int leaf = from / nodes_per_leaf_;
    const int other = to / nodes_per_leaf_;
    if (leaf == other) return;
    const int spine = to % spines_;
    links.push_back(numbered(2 * (std::int64_t{leaf} * spines_ + spine)));
    links.push_back(numbered(2 * (std::int64_t{other} * spines_ + spine) + 1));
  }

  int nodes_per_leaf_;
  int leaves_;
  int spines_;
};

/// Routers of a group are all linked to each other, and so are groups, by one link of each pair: router (other group modulo routers) has it. A message
/// takes the shortest way.
class Dragonfly final : public WithNodeLinks {
 public:
  explicit Dragonfly(const std::vector<int>& dimensions)
      : WithNodeLinks(static_cast<int>(product_of(dimensions))),
        nodes_per_router_(dimensions[0]),
        routers_(dimensions[1]),
        groups_(dimensions[2]) {}

 private:
  [[nodiscard]] std::int64_t local_count() const { return std::int64_t{groups_} * routers_ * routers_; }
  [[nodiscard]] std::int64_t inner_link_count() const override {
    return local_count() + std::int64_t{groups_} * groups_;
  }
  [[nodiscard]] std::string inner_link_name(std::int64_t link) const override {
    if (link < local_count())
      return fmt::format("group {}, router {} to {}", link / routers_ / routers_, link / routers_ % routers_,
                         link % routers_);
    return fmt::format("group {} to group {}", (link - local_count()) / groups_,
                       (link - local_count()) % groups_);
  }
  void add_local(int group, int router, int other, std::vector<std::int64_t>& links) const {
    if (router != other)
      links.push_back(numbered((std::int64_t{group} * routers_ + router) * routers_ + other));
  }
  void add_inner_links(int from, int to, std::vector<std::int64_t>& links) const override {
    const int router = from / nodes_per_router_ % routers_;
    const int group = from / nodes_per_router_ / routers_;
    const int last_router = to / nodes_per_router_ % routers_;
    const int last_group = to / nodes_per_router_ / routers_;
    if (group == last_group) return add_local(group, router, last_router, links);
    add_local(group, router, last_group % routers_, links);
    links.push_back(numbered(local_count() + std::int64_t{group} * groups_ + last_group));
    add_local(last_group, group % routers_, last_router, links);
  }

  int nodes_per_router_;
  int routers_;
  int groups_;
};

template <typename Made>
std::unique_ptr<Interconnect> make(const std::vector<int>& dimensions) {
  return std::make_unique<Made>(dimensions);
}

constexpr std::array interconnects{
    InterconnectRow{.name = "crossbar",
                    .dimensions = "nodes",
                    .description = "one switch that carries everything",
                    .make = &make<Crossbar>},
    InterconnectRow{
        .name = "hyper-crossbar",
        .dimensions = "",
        .description = "a crossbar for each line of nodes in each dimension, as the CP-PACS has them",
        .make = &make<HyperCrossbar>},
    InterconnectRow{.name = "torus",
                    .dimensions = "",
                    .description = "links to the neighbours in each dimension, around the ends",
                    .make = &make<Torus>},
    InterconnectRow{.name = "fat-tree",
                    .dimensions = "nodes of a leaf switch, leaf switches, spine switches",
                    .description = "two levels of switches",
                    .make = &make<FatTree>},
    InterconnectRow{.name = "dragonfly",
                    .dimensions = "nodes of a router, routers of a group, groups",
                    .description = "all routers of a group are linked, and all groups",
                    .make = &make<Dragonfly>}};

const InterconnectRow* row_named(std::string_view name) {
  const auto* const found = std::ranges::find(interconnects, name, &InterconnectRow::name);
  return found == interconnects.end() ? nullptr : found;
}

/// "4x8x8"; 0 stands for what is no number.
std::vector<int> extents_in(std::string_view text) {
  std::vector<int> extents;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('x', begin), text.size());
    const auto* const last = text.data() + end;
    int extent = 0;
    if (std::from_chars(text.data() + begin, last, extent).ptr != last) extent = 0;
    extents.push_back(extent);
    begin = end + 1;
  }
  return extents;
}

}  // namespace

std::span<const InterconnectRow> interconnect_table() { return interconnects; }

std::vector<std::string> interconnect_names() {
  std::vector<std::string> all;
  all.reserve(interconnects.size());
  for (const auto& row : interconnects) all.emplace_back(row.name);
  return all;
}

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
  if (colon != std::string_view::npos) shape.dimensions = extents_in(text.substr(colon + 1));
  if (const auto fault = why_no_interconnect(shape); !fault.empty()) throw InputError(fault);
  return shape;
}

std::string text_of(const InterconnectShape& shape) {
  return shape.dimensions.empty() ? shape.topology
                                  : fmt::format("{}:{}", shape.topology, fmt::join(shape.dimensions, "x"));
}

std::unique_ptr<Interconnect> make_interconnect(const InterconnectShape& shape, int nodes) {
  const auto* const row = row_named(shape.topology);
  return row->make(shape.dimensions.empty() ? std::vector{nodes} : shape.dimensions);
}

}  // namespace cg2d
