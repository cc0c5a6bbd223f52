#pragma once

// Memory of one process that others map, and the check that it is the memory they mean.
//
// A process id and a descriptor name a file only within one PID namespace of one machine. In a container, or
// on another host of the same name, /proc/PID/fd/N may be a file of somebody else. So the owner writes random
// numbers after its part and sends them by MPI, and a rank that maps the part compares them first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

}  // namespace cg2d::comm
