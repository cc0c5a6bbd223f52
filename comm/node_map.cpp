#include "comm/node_map.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace cg2d::comm {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

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

// ---------------------------------------------------------------- messages between nodes

namespace {

/// Whether products on this node read the piece, by its number.
std::vector<bool> read_pieces(const BlockLayout& layout, const NodeMap& nodes, bool mirrored, int node) {
  const auto grid = layout.grid();
  std::vector<bool> is_read(static_cast<size_t>(grid.rank_count()), false);
  for (const int rank : nodes.ranks_of(node)) {
    const ptrdiff_t column = grid.column_of(rank);
    const ptrdiff_t row = grid.row_of(rank);
    std::fill_n(is_read.begin() + column * grid.rows, grid.rows, true);
    if (mirrored) std::fill_n(is_read.begin() + row * grid.columns, grid.columns, true);
  }
  return is_read;
}

}  // namespace

std::vector<IndexRange> collected_ranges(const BlockLayout& layout, const NodeMap& nodes, bool mirrored,
                                         int from, int to) {
  const auto is_read = read_pieces(layout, nodes, mirrored, to);
  std::vector<IndexRange> ranges;
  for (int number = 0; number < layout.grid().rank_count(); ++number) {
    const auto piece = layout.piece(number);
    const bool comes_from_there = nodes.node_of(layout.column_owner_of(number)) == from;
    if (!comes_from_there || !is_read[static_cast<size_t>(number)] || piece.size() == 0) continue;
    if (!ranges.empty() && ranges.back().end == piece.begin) {
      ranges.back().end = piece.end;
    } else {
      ranges.push_back(piece);
    }
  }
  return ranges;
}

int summing_group(const BlockLayout& layout, Line over, int rank) {
  const auto grid = layout.grid();
  return over == Line::process_column ? grid.column_of(rank) : grid.row_of(layout.shuffle_source(rank));
}

std::vector<uint64_t> ranks_on_node(const BlockLayout& layout, const NodeMap& nodes, Line over, int node) {
  const auto grid = layout.grid();
  std::vector<uint64_t> counts(static_cast<size_t>(grid.rank_count() / grid.line_size(over)), 0);
  for (const int rank : nodes.ranks_of(node)) ++counts[static_cast<size_t>(grid.line_of(over, rank))];
  return counts;
}

NodeSums sums_between(const BlockLayout& layout, const NodeMap& nodes, Line over, int from, int to) {
  NodeSums sums;
  for (const int rank : nodes.ranks_of(to)) {
    const auto group = layout.grid().ranks_of(over, summing_group(layout, over, rank));
    const auto size = layout.own_piece(rank).size();
    const bool contributes =
        std::ranges::any_of(group, [&](int other) { return nodes.node_of(other) == from; });
    if (!contributes || size == 0) continue;
    sums.pieces.push_back({.rank = rank, .offset = sums.element_count});
    sums.element_count += size;
  }
  return sums;
}

}  // namespace cg2d::comm
