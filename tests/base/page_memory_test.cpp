// Vectors that ask for huge pages.

#include "cg/base/process_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <ios>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>

namespace cg2d::page_memory_test {
namespace {

constexpr size_t huge_page = size_t{1} << 21;
constexpr size_t border = huge_page / sizeof(double);

uintptr_t address_of(const HugePageVector& vector) { return reinterpret_cast<uintptr_t>(vector.data()); }

/// Whether the mapping that holds the address was advised for huge pages; empty where the system does not
/// say.
std::optional<bool> is_advised(uintptr_t address) {
  std::ifstream file("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      is_here = begin <= address && address < end;
    } else if (is_here && line.starts_with("VmFlags:")) {
      return (line + " ").find(" hg ") != std::string::npos;
    }
  }
  return std::nullopt;
}

TEST(HugePageVectorTest, IsAVectorOfAnySize) {
  for (const size_t size : {size_t{0}, size_t{1}, border - 1, border, border + 1, 3 * border + 7}) {
    HugePageVector vector(size);
    EXPECT_EQ(std::ranges::count(vector, 0.0), static_cast<ptrdiff_t>(size));
    std::iota(vector.begin(), vector.end(), 1.0);
    const HugePageVector copy = vector;
    vector.resize(size + border);
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), vector.begin()));
    EXPECT_EQ(vector.back(), 0.0);
    EXPECT_EQ(address_of(vector) % huge_page, 0U) << "a large one begins on a border";
  }
}

TEST(HugePageVectorTest, LargeOnesAskForHugePages) {
  const bool has_huge_pages = std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
  if (!has_huge_pages) GTEST_SKIP() << "this system has no transparent huge pages";
  const HugePageVector large(4 * border + 5);
  const auto advised = is_advised(address_of(large));
  if (!advised) GTEST_SKIP() << "this system does not say what was advised";
  EXPECT_TRUE(*advised);
  EXPECT_EQ(is_advised(address_of(large) + 4 * huge_page - 1), true);
}

}  // namespace
}  // namespace cg2d::page_memory_test
