#pragma once

// Threads in place of ranks, late at random: here the thread sanitizer sees both sides of every exchange.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_extent.hpp"

namespace cg2d::test {

/// Number of rounds of a stress test: fewer where the thread sanitizer makes each one long, and by default.
inline int stress_rounds(int count) {
  constexpr int sanitized_part = 20;
  constexpr int usual_part = 4;
  return has_thread_sanitizer ? count / sanitized_part : by_extent(count / usual_part, count);
}

/// Late now and then, by nothing, a moment, or the time slice.
class Delays {
 public:
  explicit Delays(int rank) : random_(static_cast<unsigned>(rank) + 1) {}
  void maybe() {
    const auto drawn = random_() % 256;
    if (drawn == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (drawn < 16) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

/// Zeroed memory on a border of pages.
struct PageDelete {
  void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{4096}); }
};
using Pages = std::unique_ptr<std::byte, PageDelete>;
inline Pages zeroed_pages(size_t byte_count) {
  Pages pages(static_cast<std::byte*>(::operator new (byte_count, std::align_val_t{4096})));
  std::fill_n(pages.get(), byte_count, std::byte{0});
  return pages;
}

/// Runs work(rank) in a thread for each rank.
inline void run_ranks(int rank_count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) threads.emplace_back(work, rank);
  for (auto& thread : threads) thread.join();
}

}  // namespace cg2d::test
