#pragma once

// Memory of each rank that the other ranks of a group write and read: by stores and loads inside a node, by
// MPI's one-sided operations between nodes.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

class RankGroup;

/// A window of MPI that is open to the accesses of all ranks (a passive epoch) from the constructor to the destructor.
class OpenWindow {
 public:
  /// Takes the window over. Throws MpiError.
  explicit OpenWindow(MPI_Win window) : window_(window) {
    check(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
  }
  /// Collective.
  ~OpenWindow() { static_cast<void>(MPI_Win_unlock_all(window_.get())); }
  OpenWindow(const OpenWindow&) = delete;
  OpenWindow& operator=(const OpenWindow&) = delete;

  MPI_Win handle() const { return window_.get(); }

 private:
  OwnedWindow window_;
};

/// A part of the given number of elements of 8 bytes on each rank. Where there are several nodes it is a
/// window of MPI. Made and destroyed by all ranks together.
///
/// Inside a node it does not use MPI_Put: MPICH 4.0 over UCX lets a put in only while its target calls MPI,
/// and MPI_Win_flush spins until then. Where ranks outnumber cores that takes a time slice, 10 ms and more.
class RmaWindow {
 public:
  /// Collective; the same sizes on each rank. `ranks_per_node`: as in CommunicatorOptions. Set-up only, since
  /// it uses blocking calls of MPI. Throws MpiError, SharedMemoryError.
  RmaWindow(RankGroup& group, int64_t element_count, int ranks_per_node);

  int ranks_per_node() const { return ranks_per_node_; }
  /// This rank's part.
  std::span<double> memory() const { return memory_; }
  /// The part of another rank, where stores and loads reach it; else empty.
  std::span<double> reachable(int rank) const { return reachable_[static_cast<size_t>(rank)]; }
  /// Whether there are ranks that only MPI reaches, through handle().
  bool is_window() const { return window_.has_value(); }
  MPI_Win handle() const { return window_->handle(); }

 private:
  int ranks_per_node_;
  NodePlace place_;
  std::span<double> memory_;
  std::vector<std::span<double>> reachable_;  // by rank
  std::optional<OpenWindow> window_;
};

}  // namespace cg2d::comm
