#pragma once

// Cuts of a box of points in 1, 2 or 3 dimensions for a grid of ranks, and who exchanges which points of a halo. Pure integer arithmetic, no MPI.

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

// ---------------------------------------------------------------- halos

// The halo of a rank are the points outside of its box that its stencil reads: those at most `width` away. (The
// "shadow" of XcalableMP, which its "reflect" fills.) Every rank that owns some of them sends them itself, as one
// message, those across edges and corners, too: with a cut in three dimensions a rank has up to 26 partners. The
// other way, dimension by dimension, has 6 messages, but each dimension has to wait for the one before it, nothing
// of which overlaps with work unless somebody polls; and a rank that reads its neighbours' points in place has
// nobody who would pass on a corner. The messages across edges and corners are small (a line, a point), and a
// stencil that does not read them asks for none.

/// The points outside of a box that a stencil reads.
struct HaloShape {
  int width = 1;             ///< width of the halo, in points; >= 1
  bool has_corners = false;  ///< the points across edges and corners, too, not across faces only
};

/// The points that a rank exchanges with one other rank: one box each way, in numbers of the whole domain.
struct HaloPart {
  int partner = 0;
  Box received;
  Box sent;
};

/// The exchange of one rank, by rising partners. A rank is a partner of its partners, and what it sends is what
/// they receive. A halo may reach across several thin boxes; empty boxes have no halo.
std::vector<HaloPart> halo_parts(const DomainLayout& layout, int rank, const HaloShape& shape);

/// The place of a point in memory: boxes are stored x first, then y, then z.
int64_t offset_in(const Box& box, const std::array<int64_t, dimension_count>& point);
/// The offset of the first point of a part of the box.
int64_t offset_of_part(const Box& box, const Box& part);
/// Whether the points of a part of the box are consecutive in memory.
bool is_consecutive(const Box& box, const Box& part);

}  // namespace cg2d::comm
