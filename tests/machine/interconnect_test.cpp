// Topologies: every message takes links that are joined, the shortest way.

#include "cg/machine/interconnect.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"

namespace cg2d::interconnect_test {
namespace {

Interconnect named(std::string_view text) { return make_interconnect(interconnect_from(text), 7); }

/// The links between those of the two nodes to the network.
TEST(InterconnectTest, MessagesTakeTheShortestWay) {
  using Links = std::vector<std::string>;
  struct Case {
    std::string name;
    int node_count;
    int from;
    int to;
    Links between;
  };
  const std::vector<Case> cases{
      {"crossbar", 7, 2, 5, {}},
      // As on the CP-PACS: one coordinate after the other, each by the crossbar of its line.
      {"hyper-crossbar:4x8x8", 256, 0, 1, {"exchanger 0 to its crossbar 0", "crossbar 0 to exchanger 1"}},
      // (0, 0, 0) to (3, 2, 1): by (3, 0, 0) and (3, 2, 0).
      {"hyper-crossbar:4x8x8",
       256,
       0,
       3 + 4 * 2 + 32,
       {"exchanger 0 to its crossbar 0", "crossbar 0 to exchanger 3", "exchanger 3 to its crossbar 1",
        "crossbar 1 to exchanger 11", "exchanger 11 to its crossbar 2", "crossbar 2 to exchanger 43"}},
      {"torus:5x3", 15, 0, 4, {"router 0, -0"}},
      {"torus:5x3", 15, 4, 6, {"router 4, +0", "router 0, +0", "router 1, +1"}},
      {"fat-tree:4x3x2", 12, 0, 3, {}},
      {"fat-tree:4x3x2", 12, 0, 5, {"leaf 0 to spine 1", "spine 1 to leaf 1"}},  // the destination's spine
      {"dragonfly:2x3x4", 24, 0, 5, {"group 0, router 0 to 2"}},
      // Group 0 has its link to group 2 at router 2, group 2 its own to group 0 at router 0.
      {"dragonfly:2x3x4",
       24,
       0,
       2 * 6 + 3,
       {"group 0, router 0 to 2", "group 0 to group 2", "group 2, router 0 to 1"}}};
  for (const auto& [name, node_count, from, to, between] : cases) {
    const auto links = named(name);
    EXPECT_EQ(links.node_count, node_count) << name;
    Links expected{"node " + std::to_string(from) + " to the network"};
    expected.insert(expected.end(), between.begin(), between.end());
    expected.push_back("the network to node " + std::to_string(to));
    EXPECT_EQ(links.route(from, to), expected) << name;
  }
}

TEST(InterconnectTest, ErrorsSayWhatWouldBeRight) {
  const auto fault = [](std::string_view text) {
    return test::message_of([&] { static_cast<void>(interconnect_from(text)); });
  };
  EXPECT_EQ(fault("tours:2x2"),
            "no topology \"tours\"; valid: crossbar, hyper-crossbar, torus, fat-tree, dragonfly; did you "
            "mean torus?");
  EXPECT_EQ(fault("torus"), "torus has the dimensions: one extent or more, such as 4x8x8");
  EXPECT_EQ(fault("fat-tree:4x4"),
            "fat-tree has the dimensions: nodes of a leaf switch, leaf switches, spine switches");
  for (const auto* text :
       {"torus:0x2", "torus:2x", "torus:", "torus:2xa", "torus:-1x2", "torus:65536x65536x65536"})
    EXPECT_EQ(fault(text), "the product of the dimensions must be within 1 ... 1048576") << text;
  EXPECT_EQ(text_of(interconnect_from("torus:4x3")), "torus:4x3");
  EXPECT_EQ(fault("crossbar"), "no error");
}

}  // namespace
}  // namespace cg2d::interconnect_test
