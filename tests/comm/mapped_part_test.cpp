// Memory of another process is mapped only if it is the memory that its owner announced.

#include "comm/shared_segment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace cg2d::comm::mapped_part_test {
namespace {

constexpr size_t part_bytes = 10'000;  // not whole pages

TEST(MappedPart, IsZeroedMemoryThatAllMappingsShare) {
  const OwnedPart owned(part_bytes);
  const auto one = map_part(owned.notice());
  const auto other = map_part(owned.notice());
  ASSERT_EQ(one.fault, PartFault::none);
  ASSERT_EQ(other.fault, PartFault::none);
  for (size_t k = 0; k < part_bytes; ++k) ASSERT_EQ(one.memory.get()[k], std::byte{0}) << k;
  one.memory.get()[part_bytes - 1] = std::byte{7};
  EXPECT_EQ(other.memory.get()[part_bytes - 1], std::byte{7});
}

/// Where there is too little memory it is told here, not by a SIGBUS later.
TEST(MappedPart, AllPagesAreThereBeforeTheyAreWritten) {
  const OwnedPart owned(part_bytes);
  struct stat status {};
  ASSERT_EQ(fstat(static_cast<int>(owned.notice().descriptor), &status), 0);
  constexpr int64_t unit_of_blocks = 512;  // see stat(2)
  EXPECT_GE(unit_of_blocks * status.st_blocks, int64_t{part_bytes});
}

TEST(MappedPart, WhatIsNotTheAnnouncedMemoryIsRefused) {
  const OwnedPart owned(part_bytes);
  const OwnedPart other(part_bytes);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto expect_fault = [&](const char* what, PartFault fault,
                                const std::function<void(PartNotice&)>& change) {
    auto notice = owned.notice();
    change(notice);
    const auto part = map_part(notice);
    EXPECT_EQ(part.fault, fault) << what;
    EXPECT_EQ(part.memory, nullptr) << what;
  };
  using enum PartFault;
  for (size_t word = 0; word < owned.notice().mark.size(); ++word)
    expect_fault("another mark", other_memory, [&](PartNotice& notice) { notice.mark[word] ^= 1U; });
  // Two processes that have the same id and descriptors, each in its container: the notice of one leads to the other's own part.
  expect_fault("a part of the same size", other_memory,
               [&](PartNotice& notice) { notice.descriptor = other.notice().descriptor; });
  expect_fault("a shorter file, before it is touched", other_memory,
               [](PartNotice& notice) { notice.byte_count = 100 * part_bytes; });
  expect_fault("a pipe", other_memory, [&](PartNotice& notice) { notice.descriptor = ends[0]; });
  expect_fault("another namespace", another_namespace,
               [](PartNotice& notice) { notice.process_namespace += 1; });
  expect_fault("no file", not_reachable, [](PartNotice& notice) { notice.descriptor = -1; });
  expect_fault("a file that is gone", not_reachable,
               [](PartNotice& notice) { notice = OwnedPart(part_bytes).notice(); });
  for (const int end : ends) close(end);
}

TEST(MappedPart, EveryFaultHasAReason) {
  EXPECT_EQ(describe(PartFault::none), "");
  for (const auto fault : {PartFault::not_reachable, PartFault::other_memory, PartFault::another_namespace}) {
    EXPECT_TRUE(describe(fault).starts_with("the ranks of a node cannot map each other's memory ("));
  }
}

}  // namespace
}  // namespace cg2d::comm::mapped_part_test
