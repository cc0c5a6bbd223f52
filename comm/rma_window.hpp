#pragma once

// Memory of each rank that the other ranks of a group write and read: by stores and loads inside a node, by
// MPI's one-sided operations between nodes.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

class RankGroup;

/// A part of the given number of elements of 8 bytes on each rank. Where there are several nodes it is a
/// window of MPI, open to the accesses of all ranks (a passive epoch) from the constructor to the destructor.
///
/// Inside a node it does not use MPI_Put: MPICH 4.0 over UCX lets a put in only while its target calls MPI,
/// and MPI_Win_flush spins until then. Where ranks outnumber cores that takes a time slice, 10 ms and more.
class RmaWindow {
 public:
  /// Collective; the same sizes on each rank. `ranks_per_node`: as in CommunicatorOptions. Set-up only, since
  /// it uses blocking calls of MPI. Throws MpiError, SharedMemoryError.
  RmaWindow(RankGroup& group, int64_t element_count, int ranks_per_node);
  /// Collective.
  ~RmaWindow();
  RmaWindow(const RmaWindow&) = delete;
  RmaWindow& operator=(const RmaWindow&) = delete;

  int ranks_per_node() const { return ranks_per_node_; }
  /// This rank's part.
  std::span<double> memory() const { return memory_; }
  /// The part of another rank, where stores and loads reach it; else empty.
  std::span<double> reachable(int rank) const { return reachable_[static_cast<size_t>(rank)]; }
  /// Whether there are ranks that only MPI reaches, through handle().
  bool is_window() const { return is_window_; }
  MPI_Win handle() const { return window_.get(); }

 private:
  int ranks_per_node_;
  NodeMap nodes_;
  SharedSegment segment_;
  std::span<double> memory_;
  std::vector<std::span<double>> reachable_;  // by rank
  bool is_window_ = false;
  OwnedWindow window_;
};

}  // namespace cg2d::comm
