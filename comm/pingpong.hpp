#pragma once

// Round trips between two ranks, by every way that there is to move bytes: `cg2d pingpong` times them.
//
// 1. One transfer moves some variables of equal size from one rank to the other, one by one (a message, a
//    put, a get, a copy for each), and then one synchronization for all of them.
// 2. It ends when the receiver knows that all variables are there.
// 3. The ranks take turns. So nothing of an earlier transfer is needed when its memory is written again.

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/interface.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// The variables of one transfer. They lie in different cache lines, as variables do that are not neighbours
/// in a program.
struct VariableShape {
  size_t count = 1;
  size_t byte_count = 8;  ///< bytes of each variable; at most INT_MAX

  /// Offset of variable `index` in the memory of a transfer.
  size_t offset(size_t index) const { return index * stride(); }
  /// The bytes that all variables take, with the gaps between them.
  size_t memory_byte_count() const { return count * stride(); }

 private:
  static constexpr size_t cache_line = 64;
  size_t stride() const { return (byte_count + cache_line - 1) / cache_line * cache_line; }
};

/// Copies the variables of a transfer from one memory to another.
inline void copy_variables(const std::byte* from, std::byte* to, const VariableShape& shape) {
  for (size_t k = 0; k < shape.count; ++k)
    std::memcpy(to + shape.offset(k), from + shape.offset(k), shape.byte_count);
}

/// One way to move variables.
struct PingPongMethod {
  std::string_view name;
  std::string_view description;
  /// It waits inside of MPI, which does not give the processor away: not for ranks that share a core.
  bool blocks = false;
};

/// The memory of two ranks, and some methods that move variables between its halves. A method is given by its
/// index in the methods of its row. Not thread-safe; everything but the accessors throws MpiError.
class PingPong : public Interface {
 public:
  explicit PingPong(const VariableShape& largest)
      : outgoing_(largest.memory_byte_count()), incoming_(largest.memory_byte_count()) {}

  /// The memory that send() of that method moves; written by the caller. Long enough for the largest shape.
  [[nodiscard]] virtual std::span<std::byte> outgoing(size_t /*method*/) { return outgoing_; }
  /// The memory of this rank alone where receive() of that method leaves the variables, at the same offsets. It changes in
  /// receive() only: a transfer ends when the receiver has all bytes, wherever the sender has put them.
  [[nodiscard]] virtual std::span<std::byte> incoming(size_t /*method*/) { return incoming_; }

  /// One transfer: one rank calls send(), the other receive(), with the same method and shape.
  ///
  /// 1. The next transfer goes the other way.
  /// 2. A sender writes to outgoing() again only after it has received the next transfer.
  /// 3. After the last transfer both ranks wait for each other by MPI, as in a barrier: one may need the
  ///    other to call MPI for its own part to end.
  virtual void send(size_t method, const VariableShape& shape) = 0;
  virtual void receive(size_t method, const VariableShape& shape) = 0;

 protected:
  [[nodiscard]] std::byte* own_outgoing() { return outgoing_.data(); }
  [[nodiscard]] std::byte* own_incoming() { return incoming_.data(); }

 private:
  // Of this rank alone.
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
};

/// Methods that share their memory. A new row is a class and its entry in pingpong_table().
struct PingPongRow {
  std::span<const PingPongMethod> methods;
  bool shares_memory = false;  ///< it serves ranks of one node only
  /// Why these can't serve the two ranks; empty when they can. Collective.
  std::string (*why_unavailable)(RankGroup& pair) = [](RankGroup&) { return std::string(); };
  /// `pair`: a group of two ranks, which must outlive the result. `largest`: no shape needs more memory.
  /// Collective, set-up only: may block. Throws MpiError, SharedMemoryError, std::bad_alloc.
  std::unique_ptr<PingPong> (*make)(RankGroup& pair, const VariableShape& largest);
};

/// All rows. Methods of all rows have different names.
std::span<const PingPongRow> pingpong_table();

}  // namespace cg2d::comm
