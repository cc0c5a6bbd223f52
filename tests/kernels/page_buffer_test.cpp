// Arrays straight from the operating system.

#include "kernels/page_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace cg2d::kernels::page_buffer_test {
namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t huge_page_bytes = size_t{1} << 21;

void fill_rising(PageBuffer<int64_t>& buffer) {
  std::iota(buffer.span().begin(), buffer.span().end(), int64_t{1});
}

/// 1, 2, 3 ... in the first `count` elements, and zeros after them.
bool is_rising(const PageBuffer<int64_t>& buffer, size_t count) {
  for (size_t k = 0; k < buffer.size(); ++k) {
    if (buffer[k] != (k < count ? static_cast<int64_t>(k) + 1 : 0)) return false;
  }
  return true;
}

TEST(PageBufferTest, AnEmptyBufferTakesNoMemory) {
  const PageBuffer<double> by_default;
  const PageBuffer<double> of_size_0(0);
  for (const auto* buffer : {&by_default, &of_size_0}) {
    EXPECT_TRUE(buffer->empty());
    EXPECT_EQ(buffer->size(), 0U);
    EXPECT_EQ(buffer->data(), nullptr);
    EXPECT_TRUE(buffer->span().empty());
  }
}

TEST(PageBufferTest, StartsZeroedOnAPageBorder) {
  for (const size_t size :
       {size_t{1}, page_bytes / 8 - 1, page_bytes / 8, page_bytes / 8 + 1, huge_page_bytes / 8 + 3}) {
    const PageBuffer<int64_t> buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % page_bytes, 0U);
    EXPECT_TRUE(is_rising(buffer, 0));
  }
}

TEST(PageBufferTest, MovingHandsTheMemoryOver) {
  PageBuffer<int64_t> first(1000);
  fill_rising(first);
  const auto* const data = first.data();
  PageBuffer<int64_t> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): a moved-from buffer is an empty one
  EXPECT_EQ(first.data(), nullptr);
  PageBuffer<int64_t> third(5);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 1000U);
  EXPECT_TRUE(is_rising(third, 1000));
}

TEST(PageBufferTest, AnotherSizeKeepsTheFirstElementsAndAddsZeros) {
  // From nothing, within a page, over page borders, into the sizes that are advised for huge pages, and back; shrunk within a page, and grown
  // again within it.
  constexpr size_t huge = huge_page_bytes / 8;
  PageBuffer<int64_t> buffer;
  size_t size_before = 0;
  for (const size_t size : {size_t{1}, size_t{7}, size_t{512}, size_t{513}, huge, 3 * huge + 1, huge + 1,
                            size_t{1000}, size_t{700}, size_t{1000}, size_t{512}, size_t{1000}, size_t{3},
                            size_t{1000}, size_t{0}, size_t{10}}) {
    buffer.resize(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(is_rising(buffer, size_before)) << size_before << " to " << size;
    EXPECT_EQ(buffer.data() == nullptr, size == 0);
    fill_rising(buffer);
    size_before = size;
  }
}

TEST(PageBufferTest, MoreThanTheAddressSpaceIsBadAlloc) {
  const size_t beyond = size_t{1} << 56;  // 2^59 bytes; a process has 2^47, or 2^56 at most
  // A wrong count must not come out as a small buffer: 2^61 doubles are 2^64 bytes, which is 0.
  for (const size_t size : {beyond, size_t{1} << 61, (size_t{1} << 61) + 1})
    EXPECT_THROW(PageBuffer<double>{size}, std::bad_alloc) << size;
  EXPECT_THROW(PageBuffer<char>{std::numeric_limits<size_t>::max()}, std::bad_alloc);
  PageBuffer<double> buffer(10);
  buffer[9] = 5.0;
  EXPECT_THROW(buffer.resize(beyond), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 10U);  // as before
  EXPECT_EQ(buffer[9], 5.0);
}

}  // namespace
}  // namespace cg2d::kernels::page_buffer_test
