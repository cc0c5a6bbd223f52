#include "comm/node_map.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <map>
#include <string>
#include <utility>

namespace cg2d::comm {
namespace {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

NodeMap::NodeMap(const std::vector<int>& node_of) {
  std::map<int, int> numbers;
  for (int rank = 0; rank < static_cast<int>(node_of.size()); ++rank) {
    const int node = numbers.try_emplace(node_of[static_cast<size_t>(rank)], static_cast<int>(numbers.size()))
                         .first->second;
    if (node == node_count()) ranks_.emplace_back();
    auto& ranks = ranks_[static_cast<size_t>(node)];
    node_of_.push_back(node);
    place_of_.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(rank);
  }
}

int NodeMap::carrier(int node, int other_node) const {
  const auto& ranks = ranks_of(node);
  return ranks[static_cast<size_t>(other_node) % ranks.size()];
}

NodeMap make_node_map(RankGroup& group, int ranks_per_node) {
  const auto hosts = group.gather_all(host_name());
  std::map<std::string, int> counts;                   // ranks of the host so far
  std::map<std::pair<std::string, int>, int> numbers;  // numbers of nodes, by host and part of it
  std::vector<int> node_of;
  for (const auto& host : hosts) {
    const int part = ranks_per_node > 0 ? counts[host]++ / ranks_per_node : 0;
    node_of.push_back(numbers.try_emplace({host, part}, static_cast<int>(numbers.size())).first->second);
  }
  return NodeMap(node_of);
}

std::vector<int> ranks_of_my_host(RankGroup& group) {
  const auto hosts = make_node_map(group, 0);
  return hosts.ranks_of(hosts.node_of(group.rank()));
}

}  // namespace cg2d::comm
