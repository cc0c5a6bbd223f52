#pragma once

// Who exchanges which points of a halo. Plain data, no MPI.
//
// The halo of a rank are the points outside of its box that its stencil reads: those at most `width` away. (The
// "shadow" of XcalableMP, which its "reflect" fills.) Every rank that owns some of them sends them itself, as one
// message, those across edges and corners, too: with a cut in three dimensions a rank has up to 26 partners. The
// other way, dimension by dimension, has 6 messages, but each dimension has to wait for the one before it, nothing
// of which overlaps with work unless somebody polls; and a rank that reads its neighbours' points in place has
// nobody who would pass on a corner. The messages across edges and corners are small (a line, a point), and a
// stencil that does not read them asks for none.

#include <vector>

#include "comm/domain_layout.hpp"

namespace cg2d::comm {

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
