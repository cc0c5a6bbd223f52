#include "comm/rma_window.hpp"

namespace cg2d::comm {

RmaWindow::RmaWindow(MPI_Comm communicator, std::int64_t element_count) {
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  check(MPI_Win_allocate(static_cast<MPI_Aint>(element_count) * static_cast<MPI_Aint>(sizeof(double)),
                         sizeof(double), MPI_INFO_NULL, communicator, static_cast<void*>(&base), &window),
        "MPI_Win_allocate");
  window_ = OwnedWindow(window);
  check(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
  memory_ = {static_cast<double*>(base), static_cast<std::size_t>(element_count)};
}

RmaWindow::~RmaWindow() { static_cast<void>(MPI_Win_unlock_all(window_.get())); }

}  // namespace cg2d::comm
