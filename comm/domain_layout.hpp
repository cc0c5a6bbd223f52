#pragma once

// Cuts of a box of points in 1, 2 or 3 dimensions for a grid of ranks. Pure integer arithmetic, no MPI.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d::comm {

inline constexpr size_t dimension_count = 3;

/// The numbers of points along x, y and z; 1 along a dimension that is not used.
using Extents = std::array<int64_t, dimension_count>;

/// A box of points: a range along each dimension; empty where one of them is.
struct Box {
  std::array<IndexRange, dimension_count> ranges{};

  int64_t extent(size_t dimension) const { return ranges[dimension].size(); }
  /// The number of points.
  int64_t size() const { return extent(0) * extent(1) * extent(2); }
  bool is_empty() const { return size() == 0; }
  friend bool operator==(const Box&, const Box&) = default;
};

/// The points that both boxes have.
Box intersection(const Box& first, const Box& second);

/// The box of all points.
Box whole_domain(const Extents& extents);

/// The ranks along x, y and z: rank = x + parts[0] * (y + parts[1] * z).
struct DomainGrid {
  std::array<int, dimension_count> parts{1, 1, 1};

  int rank_count() const { return parts[0] * parts[1] * parts[2]; }
  int rank_at(const std::array<int, dimension_count>& place) const {
    return place[0] + parts[0] * (place[1] + parts[1] * place[2]);
  }
  std::array<int, dimension_count> place_of(int rank) const {
    return {rank % parts[0], rank / parts[0] % parts[1], rank / (parts[0] * parts[1])};
  }
  /// "2x1x4".
  std::string name() const;
  friend bool operator==(const DomainGrid&, const DomainGrid&) = default;
};

/// Every ordered factorization of rank_count into three numbers, by growing parts along x, then y.
std::vector<DomainGrid> domain_grids(int rank_count);

/// The cut of a box of points into one box for each rank: every dimension is cut into parts that differ by one
/// point at most. Boxes are empty where there are more parts than points.
class DomainLayout {
 public:
  /// Throws std::invalid_argument for an extent or a number of parts below 1.
  DomainLayout(const Extents& extents, const DomainGrid& grid);

  const Extents& extents() const { return extents_; }
  const DomainGrid& grid() const { return grid_; }
  /// The number of points.
  int64_t size() const { return whole_domain(extents_).size(); }
  /// The points of a rank.
  Box box(int rank) const;

 private:
  Extents extents_;
  DomainGrid grid_;
};

/// The grid whose cut of these extents has the smallest faces between ranks, so the fewest elements in a halo
/// of width 1. Of equals, the one with the fewest parts along x, then y: faces across z are consecutive in
/// memory, those across x are single elements. No dimension gets more parts than points where that can be.
DomainGrid best_domain_grid(const Extents& extents, int rank_count);

}  // namespace cg2d::comm
