// Memory of another process is mapped only if it is the memory that its owner announced.

#include "comm/mapped_part.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace cg2d::comm::mapped_part_test {
namespace {

constexpr size_t part_bytes = 10'000;  // not whole pages

void expect_fault(const PartNotice& notice, PartFault fault) {
  const auto part = map_part(notice);
  EXPECT_EQ(part.fault, fault);
  EXPECT_EQ(part.memory, nullptr);
}

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

TEST(MappedPart, AnotherMarkIsRefused) {
  const OwnedPart owned(part_bytes);
  for (size_t word = 0; word < owned.notice().mark.size(); ++word) {
    auto notice = owned.notice();
    notice.mark[word] ^= 1U;
    expect_fault(notice, PartFault::other_memory);
  }
}

// Two processes that have the same id and descriptors, each in its container: the notice of one leads to the
// other's own part.
TEST(MappedPart, APartOfTheSameSizeIsRefused) {
  const OwnedPart meant(part_bytes);
  const OwnedPart found(part_bytes);
  auto notice = meant.notice();
  notice.descriptor = found.notice().descriptor;
  expect_fault(notice, PartFault::other_memory);
}

TEST(MappedPart, AShorterFileIsRefusedBeforeItIsTouched) {
  const OwnedPart owned(part_bytes);
  auto notice = owned.notice();
  notice.byte_count = 100 * part_bytes;
  expect_fault(notice, PartFault::other_memory);
}

TEST(MappedPart, APipeIsRefused) {
  const OwnedPart owned(part_bytes);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  auto notice = owned.notice();
  notice.descriptor = ends[0];
  expect_fault(notice, PartFault::other_memory);
  for (const int end : ends) close(end);
}

TEST(MappedPart, AnotherNamespaceIsRefused) {
  const OwnedPart owned(part_bytes);
  auto notice = owned.notice();
  notice.process_namespace += 1;
  expect_fault(notice, PartFault::another_namespace);
}

TEST(MappedPart, AFileThatIsNotThereIsRefused) {
  PartNotice notice;
  {
    const OwnedPart owned(part_bytes);
    notice = owned.notice();
  }
  expect_fault(notice, PartFault::not_reachable);
  notice.descriptor = -1;
  expect_fault(notice, PartFault::not_reachable);
}

TEST(MappedPart, EveryFaultHasAReason) {
  EXPECT_EQ(describe(PartFault::none), "");
  for (const auto fault : {PartFault::not_reachable, PartFault::other_memory, PartFault::another_namespace}) {
    EXPECT_TRUE(describe(fault).starts_with("the ranks of a node cannot map each other's memory ("));
  }
}

}  // namespace
}  // namespace cg2d::comm::mapped_part_test
