#pragma once

// Round trips between two ranks, by every way that there is to move bytes: what `cg2d pingpong` times.
//
// One transfer moves some variables, each of as many bytes, from one rank to the other, and ends when the
// other rank knows that all are there: variables are moved one by one (a message, a put, a get, a copy for
// each), and all of them share what is called the synchronization. The two ranks take turns, so that nothing
// of an earlier transfer is still needed when memory is written again.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// What one transfer moves. The variables lie in different cache lines, as things lie that are not neighbours
/// in a program.
struct VariableShape {
  std::size_t count = 1;
  std::size_t byte_count = 8;  ///< of each; at most INT_MAX

  /// Where variable `index` begins in the memory of a transfer.
  [[nodiscard]] std::size_t offset(std::size_t index) const { return index * stride(); }
  /// Of all variables.
  [[nodiscard]] std::size_t memory_byte_count() const { return count * stride(); }

 private:
  static constexpr std::size_t cache_line = 64;
  [[nodiscard]] std::size_t stride() const { return (byte_count + cache_line - 1) / cache_line * cache_line; }
};

/// One way to move variables.
struct PingPongMethod {
  std::string_view name;
  std::string_view description;
  /// Waits inside of MPI, which does not give the processor away: not for ranks that share a core.
  bool blocks = false;
};

/// The memory of two ranks, and some methods that move variables between its halves. Each method has its
/// number in the methods() of its row. Not thread-safe; everything but the accessors throws MpiError.
class PingPong {
 public:
  PingPong() = default;
  virtual ~PingPong() = default;
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;
  PingPong(PingPong&&) = delete;
  PingPong& operator=(PingPong&&) = delete;

  /// What send() of that method moves: written by the caller. Long enough for the largest shape.
  [[nodiscard]] virtual std::span<std::byte> outgoing(std::size_t method) = 0;
  /// Where receive() of that method leaves what came, at the same offsets.
  [[nodiscard]] virtual std::span<std::byte> incoming(std::size_t method) = 0;

  /// One transfer: one rank calls send(), the other receive(), with the same method and shape; then the other
  /// way round. A sender may write to outgoing() again when it has received the next transfer. Behind the
  /// last transfer both ranks must wait for each other by MPI, as in a barrier: until then one may need the
  /// other to call MPI for its own part to end.
  virtual void send(std::size_t method, const VariableShape& shape) = 0;
  virtual void receive(std::size_t method, const VariableShape& shape) = 0;
};

/// Methods that share their memory; a new row is one file that defines it, and its entry in pingpong_table().
struct PingPongRow {
  std::span<const PingPongMethod> methods;
  bool shares_memory = false;  ///< serves ranks of one node only
  /// Why these can't serve the two ranks; empty when they can. Collective.
  std::string (*why_unavailable)(RankGroup& pair);
  /// `pair`: a group of two ranks, which must outlive the result. `largest`: no shape needs more memory.
  /// Collective, set-up only: may block. Throws MpiError, SharedMemoryError, std::bad_alloc.
  std::unique_ptr<PingPong> (*make)(RankGroup& pair, const VariableShape& largest);
};

/// All rows. Methods of all rows have different names.
std::span<const PingPongRow> pingpong_table();

PingPongRow message_pingpong();
PingPongRow one_sided_pingpong();
PingPongRow shared_pingpong();

}  // namespace cg2d::comm
