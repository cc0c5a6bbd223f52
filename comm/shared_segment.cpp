#include "comm/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace cg2d::comm {
namespace {

using Mark = decltype(PartNotice::mark);

class Descriptor {
 public:
  /// -1: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

uint64_t process_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// On a page of its own: the rest of the part's last page stays zero for those that map it.
off_t mark_offset(uint64_t byte_count) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return static_cast<off_t>((byte_count + page - 1) / page * page);
}

off_t file_size(uint64_t byte_count) { return mark_offset(byte_count) + static_cast<off_t>(sizeof(Mark)); }

/// Every page is made here, by its owner: where there is no room it must fail now.
bool fill(int descriptor, uint64_t byte_count, const Mark& mark) {
  int error = EINTR;  // where the program was stopped meanwhile
  while (error == EINTR) error = posix_fallocate(descriptor, 0, file_size(byte_count));
  return error == 0 &&
         pwrite(descriptor, mark.data(), sizeof mark, mark_offset(byte_count)) == ssize_t{sizeof mark};
}

bool is_file_of(const PartNotice& notice, int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size != file_size(notice.byte_count)) return false;
  Mark found{};
  return pread(descriptor, found.data(), sizeof found, mark_offset(notice.byte_count)) ==
             ssize_t{sizeof found} &&
         found == notice.mark;
}

}  // namespace

std::string describe(PartFault fault) {
  if (fault == PartFault::none) return {};
  const std::string text = "the ranks of a node cannot map each other's memory ";
  switch (fault) {
    case PartFault::another_namespace:
      return text + "(they are in different PID namespaces, such as containers of their own)";
    case PartFault::other_memory:
      return text + "(/proc/PID/fd leads to other files than theirs: different machines or containers?)";
    default:
      return text + "(memfd_create and /proc/PID/fd are needed)";
  }
}

OwnedPart::OwnedPart(size_t byte_count)
    : notice_{.process_namespace = process_namespace(), .process = getpid(), .byte_count = byte_count} {
  if (getrandom(notice_.mark.data(), sizeof(Mark), 0) != ssize_t{sizeof(Mark)}) return;
  const int descriptor = memfd_create("cg2d", MFD_CLOEXEC);
  if (descriptor < 0) return;
  if (fill(descriptor, byte_count, notice_.mark)) {
    notice_.descriptor = descriptor;
  } else {
    close(descriptor);
  }
}

OwnedPart::~OwnedPart() {
  if (notice_.descriptor >= 0) close(static_cast<int>(notice_.descriptor));
}

void Unmap::operator()(std::byte* memory) const { munmap(memory, byte_count); }

MappedPart map_part(const PartNotice& notice) {
  const auto failed = [](PartFault fault) { return MappedPart{.memory = nullptr, .fault = fault}; };
  if (notice.process_namespace != process_namespace()) return failed(PartFault::another_namespace);
  if (notice.descriptor < 0) return failed(PartFault::not_reachable);
  const auto path = "/proc/" + std::to_string(notice.process) + "/fd/" + std::to_string(notice.descriptor);
  // Until the check it may be any file, a terminal or a pipe too.
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.number() < 0) return failed(PartFault::not_reachable);
  if (!is_file_of(notice, file.number())) return failed(PartFault::other_memory);
  void* const address =
      mmap(nullptr, notice.byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (address == MAP_FAILED) return failed(PartFault::not_reachable);
  return {.memory = PartMemory(static_cast<std::byte*>(address), Unmap{.byte_count = notice.byte_count}),
          .fault = PartFault::none};
}

SharedMemoryError::SharedMemoryError(int64_t needed_bytes)
    : std::runtime_error("the ranks of a node cannot share " + std::to_string(needed_bytes) +
                         " bytes of memory"),
      needed_bytes_(needed_bytes) {}

SharedSegment::SharedSegment(RankGroup& group, std::span<const int> ranks, size_t byte_count) {
  const OwnedPart mine(std::max<size_t>(byte_count, 1));
  const auto notices = group.gather_all(std::span<const PartNotice>(&mine.notice(), 1));
  PartFault my_fault = PartFault::none;
  for (const int rank : ranks) {
    auto part = map_part(notices[static_cast<size_t>(rank)].front());
    my_fault = std::max(my_fault, part.fault);
    parts_.push_back(std::move(part.memory));
  }
  // All or none: a rank without a part would wait for ever. After this gather every part has been mapped, and
  // the descriptors may go.
  const auto faults = group.gather_all(std::span<const PartFault>(&my_fault, 1));
  for (const int rank : ranks) fault_ = std::max(fault_, faults[static_cast<size_t>(rank)].front());
  if (fault_ != PartFault::none) parts_.clear();
}

NodePlace make_node_place(RankGroup& group, int ranks_per_node,
                          const std::function<size_t(const NodeMap& nodes)>& byte_count) {
  NodePlace place{.rank = group.rank(),
                  .nodes = make_node_map(group, ranks_per_node),
                  .parts = {},
                  .memory = {},
                  .waiter = group.waiter()};
  const auto& local_ranks = place.nodes.ranks_of(place.nodes.node_of(place.rank));
  const size_t own_bytes = byte_count(place.nodes);
  const auto segment = std::make_shared<const SharedSegment>(group, local_ranks, own_bytes);
  if (group.minimum(segment->is_there() ? 1 : 0) == 0)
    throw SharedMemoryError(group.sum(static_cast<int64_t>(own_bytes)));
  for (size_t index = 0; index < local_ranks.size(); ++index) place.parts.push_back(segment->part(index));
  place.memory = segment;
  return place;
}

std::string why_not_mapped(RankGroup& group) {
  const SharedSegment probe(group, ranks_of_my_host(group), 1);
  return describe(static_cast<PartFault>(group.maximum(static_cast<int64_t>(probe.fault()))));
}

}  // namespace cg2d::comm
