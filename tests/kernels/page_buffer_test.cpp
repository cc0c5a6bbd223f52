// Arrays straight from the operating system.

#include "kernels/page_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace cg2d::kernels::page_buffer_test {
namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t huge_page_bytes = size_t{1} << 21;

/// Elements from `begin` on that are not zero.
template <typename T>
ptrdiff_t nonzero_count(const PageBuffer<T>& buffer, size_t begin = 0) {
  return std::ranges::count_if(buffer.span().subspan(begin), [](T value) { return value != T{}; });
}

void fill_rising(PageBuffer<int64_t>& buffer) {
  std::iota(buffer.span().begin(), buffer.span().end(), int64_t{1});
}

bool is_rising(const PageBuffer<int64_t>& buffer, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (buffer[k] != static_cast<int64_t>(k) + 1) return false;
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
    PageBuffer<double> buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % page_bytes, 0U);
    EXPECT_EQ(nonzero_count(buffer), 0);
    buffer[size - 1] = 1.0;
    EXPECT_EQ(nonzero_count(buffer), 1);
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

TEST(PageBufferTest, GrowingKeepsTheContentsAndAddsZeros) {
  PageBuffer<int64_t> buffer;
  size_t size_before = 0;
  // From nothing, within a page, over page borders, and into the sizes that are advised for huge pages.
  for (const size_t size :
       {size_t{1}, size_t{7}, size_t{512}, size_t{513}, huge_page_bytes / 8, 3 * huge_page_bytes / 8 + 1}) {
    buffer.resize(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(is_rising(buffer, size_before));
    EXPECT_EQ(nonzero_count(buffer, size_before), 0);
    fill_rising(buffer);
    size_before = size;
  }
}

TEST(PageBufferTest, ShrinkingKeepsTheFirstElements) {
  PageBuffer<int64_t> buffer(3 * huge_page_bytes / 8);
  fill_rising(buffer);
  for (const size_t size : {huge_page_bytes / 8 + 1, size_t{513}, size_t{512}, size_t{3}}) {
    buffer.resize(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(is_rising(buffer, size));
  }
  buffer.resize(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
  buffer.resize(10);
  EXPECT_EQ(nonzero_count(buffer), 0);
}

TEST(PageBufferTest, GrowingBehindShrinkingAddsZeros) {
  for (const size_t small : {size_t{3}, size_t{512}, size_t{700}}) {
    PageBuffer<int64_t> buffer(1000);
    fill_rising(buffer);
    buffer.resize(small);
    buffer.resize(1000);
    EXPECT_TRUE(is_rising(buffer, small));
    EXPECT_EQ(nonzero_count(buffer, small), 0) << "shrunk to " << small;
  }
}

TEST(PageBufferTest, MoreThanTheAddressSpaceIsBadAlloc) {
  const size_t beyond = size_t{1} << 56;  // 2^59 bytes; a process has 2^47, or 2^56 at most
  EXPECT_THROW(PageBuffer<double>{beyond}, std::bad_alloc);
  PageBuffer<double> buffer(10);
  buffer[9] = 5.0;
  EXPECT_THROW(buffer.resize(beyond), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 10U);  // as before
  EXPECT_EQ(buffer[9], 5.0);
}

TEST(PageBufferTest, ASizeWhoseBytesOverflowIsBadAlloc) {
  // A wrong count must not come out as a small buffer: 2^61 doubles are 2^64 bytes, which is 0.
  EXPECT_THROW(PageBuffer<double>{size_t{1} << 61}, std::bad_alloc);
  EXPECT_THROW(PageBuffer<double>{(size_t{1} << 61) + 1}, std::bad_alloc);
  EXPECT_THROW(PageBuffer<char>{std::numeric_limits<size_t>::max()}, std::bad_alloc);
}

}  // namespace
}  // namespace cg2d::kernels::page_buffer_test
