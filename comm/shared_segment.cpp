#include "comm/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <string>

#include "comm/node_map.hpp"

namespace cg2d::comm {
namespace {

/// A file descriptor that closes itself; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// An anonymous file of that size with all its pages, or -1: where there is no room it must fail here, not at
/// the first touch.
int anonymous_file(std::size_t byte_count) {
  const int descriptor = memfd_create("cg2d", MFD_CLOEXEC);
  if (descriptor < 0) return -1;
  if (posix_fallocate(descriptor, 0, static_cast<off_t>(byte_count)) == 0) return descriptor;
  close(descriptor);
  return -1;
}

/// What a rank tells the others about its part.
struct PartNotice {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::int64_t byte_count = 0;
};

std::span<std::byte> map_part(const PartNotice& notice) {
  if (notice.descriptor < 0) return {};
  const auto path = "/proc/" + std::to_string(notice.process) + "/fd/" + std::to_string(notice.descriptor);
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.number() < 0) return {};
  const auto byte_count = static_cast<std::size_t>(notice.byte_count);
  void* const address = mmap(nullptr, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (address == MAP_FAILED) return {};
  return {static_cast<std::byte*>(address), byte_count};
}

}  // namespace

SharedMemoryError::SharedMemoryError(std::int64_t needed_bytes)
    : std::runtime_error("the ranks of a node cannot share " + std::to_string(needed_bytes) +
                         " bytes of memory"),
      needed_bytes_(needed_bytes) {}

SharedSegment::SharedSegment(RankGroup& group, std::span<const int> ranks, std::size_t byte_count) {
  const Descriptor mine(anonymous_file(std::max<std::size_t>(byte_count, 1)));
  const PartNotice notice{.process = getpid(),
                          .descriptor = mine.number(),
                          .byte_count = static_cast<std::int64_t>(std::max<std::size_t>(byte_count, 1))};
  const auto notices = group.gather_all(std::span<const PartNotice>(&notice, 1));
  bool is_mapped = true;
  for (const int rank : ranks) {
    parts_.push_back(map_part(notices[static_cast<std::size_t>(rank)].front()));
    is_mapped = is_mapped && !parts_.back().empty();
  }
  // All or none: who does not have a part would wait for ever. Behind this every part has been mapped, and
  // the descriptors may go.
  const std::int64_t answer = is_mapped ? 1 : 0;
  const auto answers = group.gather_all(std::span<const std::int64_t>(&answer, 1));
  const bool all_mapped = std::ranges::all_of(
      ranks, [&](int rank) { return answers[static_cast<std::size_t>(rank)].front() != 0; });
  if (!all_mapped) unmap();
}

SharedSegment::~SharedSegment() { unmap(); }

void SharedSegment::unmap() {
  for (const auto& part : parts_) {
    if (!part.empty()) munmap(part.data(), part.size());
  }
  parts_.clear();
}

std::string why_not_mapped(RankGroup& group) {
  const auto hosts = make_node_map(group, 0);
  const SharedSegment probe(group, hosts.ranks_of(hosts.node_of(group.rank())), 1);
  if (group.minimum(probe.is_there() ? 1 : 0) == 1) return {};
  return "the ranks of a node cannot map each other's memory (memfd_create and /proc/PID/fd are needed)";
}

}  // namespace cg2d::comm
