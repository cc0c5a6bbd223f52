#pragma once

// MPI objects that free themselves, MPI errors as exceptions, and counts as MPI takes them. No raw
// MPI_*_free
// and no unchecked narrowing to a count anywhere else.

#include <mpi.h>

#include <concepts>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cg2d::comm {

/// An MPI call failed. what() names the call and gives MPI's own text.
class MpiError : public std::runtime_error {
 public:
  MpiError(const char* call, int code);
};

/// Throws MpiError when `code` is not MPI_SUCCESS. `call` is the name of the MPI function.
void check(int code, const char* call);

/// A count, displacement or tag as MPI and BLAS take it. Throws std::overflow_error when it does not fit.
template <std::integral Count>
[[nodiscard]] int int_count(Count count) {
  if (!std::in_range<int>(count) || std::cmp_less(count, 0)) {
    throw std::overflow_error("a count must be within 0 ... " +
                              std::to_string(std::numeric_limits<int>::max()) + ", got " +
                              std::to_string(count));
  }
  return static_cast<int>(count);
}

/// MPI from MPI_Init_thread (funneled: only the thread that made the session calls MPI) to MPI_Finalize.
class MpiSession {
 public:
  /// Throws MpiError.
  MpiSession(int& argument_count, char**& arguments);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

/// One MPI handle, owned: move-only, freed by `Free` when it goes.
template <typename Handle, int (*Free)(Handle*)>
class OwnedHandle {
 public:
  OwnedHandle() = default;
  explicit OwnedHandle(Handle handle) : handle_(handle), owned_(true) {}
  OwnedHandle(OwnedHandle&& other) noexcept
      : handle_(other.handle_), owned_(std::exchange(other.owned_, false)) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = other.handle_;
      owned_ = std::exchange(other.owned_, false);
    }
    return *this;
  }
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  ~OwnedHandle() { release(); }

  Handle get() const { return handle_; }

 private:
  void release() noexcept {
    if (owned_) static_cast<void>(Free(&handle_));
    owned_ = false;
  }

  Handle handle_{};
  bool owned_ = false;
};

using OwnedCommunicator = OwnedHandle<MPI_Comm, &MPI_Comm_free>;
using OwnedGroup = OwnedHandle<MPI_Group, &MPI_Group_free>;
using OwnedDatatype = OwnedHandle<MPI_Datatype, &MPI_Type_free>;
using OwnedRequest = OwnedHandle<MPI_Request, &MPI_Request_free>;
using OwnedWindow = OwnedHandle<MPI_Win, MPI_Win_free>;

}  // namespace cg2d::comm
