#pragma once

// A group of ranks with the collective operations that set-up, agreement on errors and reporting need. Each
// is nonblocking inside and waits in the Waiter, so that an oversubscribed machine does not stall.

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

class RmaWindow;

/// All ranks of a communicator, in a communicator of their own. Not thread-safe; every operation but the
/// accessors is collective and throws MpiError.
class RankGroup {
 public:
  /// Duplicates `communicator`; the group must go before MPI_Finalize. Waits in `mode` until set_mode.
  explicit RankGroup(MPI_Comm communicator, WaitMode mode = WaitMode::yield);

  /// The first `rank_count` ranks (1 ... size()) as a group of their own, in the same order, waiting in
  /// `mode`. Collective over these ranks only: the others do not call it. Set-up only: a blocking call of MPI
  /// makes the communicator, unless it is of all ranks.
  RankGroup first_ranks(int rank_count, WaitMode mode = WaitMode::yield) const;

  /// A communicator of MPI over these ranks, which include this one; made by the first call for them, and
  /// kept. Collective over them; the first call is set-up only, as first_ranks().
  [[nodiscard]] MPI_Comm part(const std::vector<int>& ranks);

  /// A window of at least the given number of elements on each rank, contents unspecified. Reuses a released
  /// one, since MPI takes long to make one, or frees those that are too small. Collective; all ranks ask for
  /// the same size, and release windows in the same order. Set-up only.
  [[nodiscard]] std::shared_ptr<RmaWindow> borrow_window(int64_t element_count, int ranks_per_node);

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm handle() const { return communicator_.get(); }
  [[nodiscard]] Waiter& waiter() { return waiter_; }

  void barrier();
  [[nodiscard]] int64_t sum(int64_t value);
  [[nodiscard]] int64_t maximum(int64_t value);
  [[nodiscard]] int64_t minimum(int64_t value);
  [[nodiscard]] double maximum(double value);
  /// Element by element the maximum over these ranks, which include this one; collective over them, as part(). Set-up only.
  void maxima(const std::vector<int>& ranks, std::span<double> values);
  /// Element by element the sum over these ranks; collective over them, as part(). Set-up only.
  void sums(const std::vector<int>& ranks, std::span<int64_t> values);
  /// That over all ranks.
  void sums(std::span<int64_t> values);
  /// Sum of the values of all lower ranks; 0 on rank 0.
  [[nodiscard]] int64_t sum_of_lower_ranks(int64_t value);

  /// The values of every rank, in rank order, on every rank. T must be trivially copyable.
  template <typename T>
  [[nodiscard]] std::vector<std::vector<T>> gather_all(std::span<const T> mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::vector<T>> result;
    for (const auto& bytes : gather_bytes(std::as_bytes(mine))) {
      auto& values = result.emplace_back(bytes.size() / sizeof(T));
      std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span<T>(values)).begin());
    }
    return result;
  }
  [[nodiscard]] std::vector<std::string> gather_all(const std::string& mine);
  /// One value of every rank, in rank order, on every rank. T must be trivially copyable.
  template <typename T>
  [[nodiscard]] std::vector<T> gather_one(const T& mine) {
    std::vector<T> all;
    for (const auto& values : gather_all(std::span<const T>(&mine, 1))) all.push_back(values.front());
    return all;
  }

  /// The value of rank 0, on every rank.
  [[nodiscard]] std::string broadcast(std::string value);

  /// Personalized exchange of 64-bit words: outgoing[r] goes to rank r; the result's entry r came from rank
  /// r. One message per pair of ranks, none if it is empty. The rank's own entry is moved, not copied.
  [[nodiscard]] std::vector<std::vector<uint64_t>> exchange(std::vector<std::vector<uint64_t>> outgoing);

  /// One point-to-point message, for output that rank 0 writes piece by piece.
  void send_text(const std::string& text, int destination);
  [[nodiscard]] std::string receive_text(int source);
  /// Waits for a text of any rank, and returns that rank, from which receive_text() then takes it.
  [[nodiscard]] int await_text();
  /// One message of one word, to compare clocks. Not collective: the other rank receives it.
  void send_word(uint64_t word, int destination);
  [[nodiscard]] uint64_t receive_word(int source);

 private:
  OwnedCommunicator make_part(const std::vector<int>& ranks) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(std::span<const std::byte> mine);
  [[nodiscard]] int64_t reduce(int64_t value, MPI_Op operation);
  void reduce_in_place(MPI_Comm ranks, void* values, size_t count, MPI_Datatype type, MPI_Op operation);
  void wait(MPI_Request request);

  Waiter waiter_;
  OwnedCommunicator communicator_;
  std::map<std::vector<int>, OwnedCommunicator> parts_;
  std::vector<std::shared_ptr<RmaWindow>> windows_;
  int rank_ = 0;
  int size_ = 1;
};

/// One number summed over all ranks by MPI itself, to compare the transports' dot products with: by
/// MPI_Allreduce, which does not give the processor away while it waits (not for ranks that share cores), and
/// by MPI_Iallreduce, waited for in the group's Waiter. Collective. Throws MpiError.
double sum_blocking(RankGroup& group, double value);
double sum_nonblocking(RankGroup& group, double value);

}  // namespace cg2d::comm
