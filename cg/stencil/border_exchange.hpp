#pragma once

// The planes at the borders of slabs, exchanged between passes.

#include <cstdint>
#include <vector>

#include "cg/stencil/plane_layout.hpp"
#include "comm/rank_group.hpp"
#include "comm/transfer.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d {

/// A rank's first and last planes are kept in memory when they are made, so that an exchange needs no reading. Ranks follow each other
/// along z; each slab has at least `depth` planes.
class BorderExchange {
 public:
  /// depth: planes that are exchanged at most, the steps of the longest pass. Collective. Throws MpiError, std::bad_alloc.
  BorderExchange(comm::RankGroup& group, const PlaneLayout& layout, std::int64_t plane_count, int depth);
  /// Memory of such an object.
  static std::int64_t byte_count(const PlaneLayout& layout, int depth, int neighbour_count);

  /// Whether a neighbour needs plane z of the slab.
  [[nodiscard]] bool keeps(std::int64_t z) const {
    return lower_.keeps(z, depth_) || upper_.keeps(z, depth_);
  }
  /// Keeps plane z of the slab, if a neighbour needs it.
  void keep(std::int64_t z, const double* plane);
  /// Sends what was kept last and receives the same of the neighbours: the planes that are not further away than `depth_now`. Collective.
  /// Throws MpiError.
  void exchange(int depth_now);
  /// A plane that the last exchange brought: plane z of the slab's own count, -depth_now ... -1, or plane_count ... plane_count+depth_now-1.
  [[nodiscard]] const double* received(std::int64_t z) const;
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_.of(comm::Operation::halo).byte_count; }

 private:
  /// A neighbour. The planes in its buffers are in the order of z.
  struct Side {
    int partner = -1;            // none
    std::int64_t first_own = 0;  // plane of the slab that `kept` begins with
    std::int64_t first_foreign = 0;
    kernels::PageBuffer<double> kept{};
    kernels::PageBuffer<double> received{};
    std::vector<comm::Transfer> sends{};
    std::vector<comm::Transfer> receives{};

    [[nodiscard]] bool keeps(std::int64_t z, int depth) const {
      return partner >= 0 && first_own <= z && z < first_own + depth;
    }
  };
  void connect(Side& side, int partner);
  /// The `depth_now` of depth_ planes nearest to the other slab; is_lower: the neighbour's planes come
  /// before.
  [[nodiscard]] comm::IndexRange nearest(bool is_lower, bool is_received, int depth_now) const;

  PlaneLayout layout_;
  int depth_;
  comm::TrafficCounts sent_;
  comm::Endpoint endpoint_;
  Side lower_;
  Side upper_;
};

}  // namespace cg2d
