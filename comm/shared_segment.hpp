#pragma once

// Memory that ranks of one node share: each maps parts of the others, after a check that each is the memory they mean.
//
// A process id and a descriptor name a file only within one PID namespace of one machine. In a container, or
// on another host of the same name, /proc/PID/fd/N may be a file of somebody else. So the owner writes random
// numbers after its part and sends them by MPI, and a rank that maps the part compares them first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// Why a part is not mapped. Where several apply, the greatest says most.
enum class PartFault : int64_t {
  none,
  not_reachable,      ///< there is no such file, or it may not be opened or mapped
  other_memory,       ///< the file is not the owner's
  another_namespace,  ///< the owner's process id means another process here, or none
};

/// Why ranks that found this cannot share memory, as a text for users; empty for `none`.
std::string describe(PartFault fault);

/// The notice of the owner of a part to the ranks that map it; all bytes may go through MPI.
struct PartNotice {
  uint64_t process_namespace = 0;  ///< inode of /proc/self/ns/pid; 0: unknown
  int64_t process = 0;
  int64_t descriptor = -1;  ///< -1: there is no memory
  uint64_t byte_count = 0;
  std::array<uint64_t, 2> mark{};  ///< random, the same in the file
};

/// The owner's side: an anonymous file (memfd) with all its pages, zeroed, and the mark on a page after them.
class OwnedPart {
 public:
  /// Local. Where there is no room it fails here, not at the first touch: the notice then says so.
  explicit OwnedPart(size_t byte_count);
  /// From here on the part cannot be mapped any more; mappings stay.
  ~OwnedPart();
  OwnedPart(const OwnedPart&) = delete;
  OwnedPart& operator=(const OwnedPart&) = delete;

  const PartNotice& notice() const { return notice_; }

 private:
  PartNotice notice_;
};

/// Takes a mapping away.
struct Unmap {
  size_t byte_count = 0;
  void operator()(std::byte* memory) const;
};
using PartMemory = std::unique_ptr<std::byte, Unmap>;

struct MappedPart {
  PartMemory memory;  ///< on a border of pages; null if there is a fault
  PartFault fault = PartFault::none;
};

/// Maps the part of which the notice tells, of another process or of this one, while its owner exists. The
/// file's size and mark are compared first, by reads of the file: memory of somebody else is never touched,
/// and a file that is too short gives a fault and no bus error. Local.
MappedPart map_part(const PartNotice& notice);

/// There is no room for memory that ranks share, or the system does not let them share it.
class SharedMemoryError : public std::runtime_error {
 public:
  /// `needed_bytes`: of all ranks together.
  explicit SharedMemoryError(int64_t needed_bytes);
  int64_t needed_bytes() const { return needed_bytes_; }

 private:
  int64_t needed_bytes_;
};

/// One part of each of some ranks, zeroed, mapped by all of them. The memory has no name, so nothing is left
/// of it however the program ends: each rank makes its part as an anonymous file (memfd) and the others map
/// it by way of /proc, after a check that it is that file (map_part). Each rank gives its own part its pages,
/// so that they are near it.
///
/// Not MPI_Win_allocate_shared: that blocks without giving the processor away, and where there is no room it
/// lets the program die at the first touch.
class SharedSegment {
 public:
  /// Collective over the whole group. `ranks`: those that share with this rank, itself included; each of them
  /// names the same. `byte_count`: of my part.
  SharedSegment(RankGroup& group, std::span<const int> ranks, size_t byte_count);
  ~SharedSegment() = default;
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Whether all of these ranks have all parts; if not, none has any.
  bool is_there() const { return !parts_.empty(); }
  /// Why not; the same on all of these ranks.
  PartFault fault() const { return fault_; }
  /// The part of ranks[index], on a border of pages.
  std::byte* part(size_t index) const { return parts_[index].get(); }

 private:
  std::vector<PartMemory> parts_;
  PartFault fault_ = PartFault::none;
};

/// One rank's access to the memory of its node.
struct NodePlace {
  int rank = 0;
  NodeMap nodes;
  /// The part of each rank of this node, zeroed, on borders of pages, as long as the protocol in it says.
  std::vector<std::byte*> parts;
  std::shared_ptr<const void> memory;  ///< kept as long as it is used
  Waiter& waiter;
};

/// Makes such memory, byte_count(nodes) bytes of it this rank's. `ranks_per_node`: as in CommunicatorOptions. Collective. Throws MpiError,
/// SharedMemoryError.
NodePlace make_node_place(RankGroup& group, int ranks_per_node,
                          const std::function<size_t(const NodeMap& nodes)>& byte_count);

/// Why the ranks of a node cannot share memory on this machine; empty where they can. Collective.
std::string why_not_mapped(RankGroup& group);

}  // namespace cg2d::comm
