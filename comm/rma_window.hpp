#pragma once

// Memory of each rank that the other ranks of a group read and write (MPI's one-sided operations).

#include <mpi.h>

#include <cstdint>
#include <span>

#include "comm/mpi_handles.hpp"

namespace cg2d::comm {

/// A window of MPI over all ranks of a communicator, open to everybody's accesses (a passive epoch) from the
/// constructor to the destructor. Its elements have 8 bytes.
class RmaWindow {
 public:
  /// Collective; the same size on each rank. By MPI's own blocking calls: set-up only. Throws MpiError.
  RmaWindow(MPI_Comm communicator, std::int64_t element_count);
  /// Collective.
  ~RmaWindow();
  RmaWindow(const RmaWindow&) = delete;
  RmaWindow& operator=(const RmaWindow&) = delete;
  RmaWindow(RmaWindow&&) = delete;
  RmaWindow& operator=(RmaWindow&&) = delete;

  /// This rank's part.
  [[nodiscard]] std::span<double> memory() const { return memory_; }
  [[nodiscard]] MPI_Win handle() const { return window_.get(); }

 private:
  OwnedWindow window_;
  std::span<double> memory_;
};

}  // namespace cg2d::comm
