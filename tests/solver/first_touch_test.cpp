// Memory lies near the thread that touches it first, which must be the thread that uses it.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/vector_ops.hpp"
#include "kernels/spmv.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"

namespace cg2d::first_touch_test {
namespace {

constexpr int thread_count = 3;
constexpr int untouched = -1;

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// The whole pages of a vector.
std::span<std::byte> pages_of(std::span<double> vector) {
  const auto page = page_size();
  const auto begin = reinterpret_cast<uintptr_t>(vector.data());
  const auto first = (begin + page - 1) / page * page;
  const auto last = (begin + vector.size_bytes()) / page * page;
  return {reinterpret_cast<std::byte*>(first), last - first};
}

/// Notes which thread is the first to touch each page: takes every right to them away, and gives it back in
/// the handler of the fault. One at a time.
class TouchRecorder {
 public:
  explicit TouchRecorder(std::span<double> vector)
      : pages_(pages_of(vector)), threads_(pages_.size() / page_size()) {
    for (auto& thread : threads_) thread = untouched;
    current = this;
    struct sigaction action {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &earlier_);
    mprotect(pages_.data(), pages_.size(), PROT_NONE);
  }
  ~TouchRecorder() {
    mprotect(pages_.data(), pages_.size(), PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &earlier_, nullptr);
  }
  TouchRecorder(const TouchRecorder&) = delete;
  TouchRecorder& operator=(const TouchRecorder&) = delete;

  /// Number of the touching thread in its team, for every page.
  std::vector<int> threads() const { return {threads_.begin(), threads_.end()}; }

 private:
  static void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) { current->note(info->si_addr); }
  void note(void* address) {
    const auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(pages_.data());
    if (offset >= pages_.size()) _exit(EXIT_FAILURE);  // a fault of another kind
    const auto page = offset / page_size();
    int expected = untouched;
    threads_[page].compare_exchange_strong(expected, omp_get_thread_num());
    mprotect(pages_.data() + page * page_size(), page_size(), PROT_READ | PROT_WRITE);
  }

  static TouchRecorder* current;
  std::span<std::byte> pages_;
  std::vector<std::atomic<int>> threads_;
  struct sigaction earlier_ {};
};
TouchRecorder* TouchRecorder::current = nullptr;

/// Every page that lies within one part must have been touched by that part's thread; borders in elements.
void expect_parts(std::span<double> vector, const std::vector<int>& threads,
                  const std::vector<int64_t>& borders) {
  const auto doubles = page_size() / sizeof(double);
  const auto first = static_cast<size_t>(reinterpret_cast<double*>(pages_of(vector).data()) - vector.data());
  size_t compared = 0;
  for (size_t part = 0; part + 1 < borders.size(); ++part) {
    for (size_t page = 0; page < threads.size(); ++page) {
      const auto begin = static_cast<int64_t>(first + page * doubles);
      if (begin < borders[part] || begin + static_cast<int64_t>(doubles) > borders[part + 1]) continue;
      EXPECT_EQ(threads[page], static_cast<int>(part)) << "page " << page << " of " << threads.size();
      ++compared;
    }
  }
  EXPECT_GE(compared + borders.size(), threads.size());
}

/// Number of pages that each thread of a team was the first to touch in `work`, by its faults.
std::vector<int64_t> touched_pages(const std::function<void()>& work) {
  std::vector<int64_t> faults(thread_count);
  const auto count = [&](int sign) {
#pragma omp parallel num_threads(thread_count)
    {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      faults[static_cast<size_t>(omp_get_thread_num())] += sign * usage.ru_minflt;
    }
  };
  count(+1);  // the threads exist, and have allocated their own memory
  count(-1);
  count(-1);
  work();
  count(+1);
  return faults;
}

std::vector<int64_t> even_borders(int64_t size) {
  return {0, size / 3 + (size % 3 > 0 ? 1 : 0), size - size / 3, size};
}

class FirstTouchTest : public testing::Test {
 protected:
  /// One fault for each small page, wherever it is.
  static void SetUpTestSuite() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  static void TearDownTestSuite() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
};

TEST_F(FirstTouchTest, AFreshVectorIsUntouched) {
  for (const size_t size : {size_t{1} << 13, size_t{100'000}, size_t{1} << 19}) {
    HugePageVector vector(size);
    const auto pages = pages_of(vector);
    std::vector<unsigned char> is_resident(pages.size() / page_size());
    ASSERT_EQ(mincore(pages.data(), pages.size(), is_resident.data()), 0);
    int resident_count = 0;
    for (const auto byte : is_resident) resident_count += byte & 1;
    EXPECT_EQ(resident_count, 0) << size;
    vector.back() = 1.0;
    vector.front() = 1.0;
    ASSERT_EQ(mincore(pages.data(), pages.size(), is_resident.data()), 0);
    EXPECT_EQ(is_resident.front() & 1, 1) << "this system does not tell which pages are there";
  }
}

TEST_F(FirstTouchTest, VectorOperationsTouchTheirOwnParts) {
  HugePageVector x(100'001);
  HugePageVector y(x.size());
  VectorOps vectors(thread_count);
  const auto borders = even_borders(static_cast<int64_t>(x.size()));
  const std::vector<std::function<void()>> works{
      [&] { vectors.fill(1.0, x); },          [&] { vectors.copy(y, x); },
      [&] { vectors.add_scaled(2.0, y, x); }, [&] { vectors.scale_and_add(y, 0.5, x); },
      [&] { vectors.set_scaled(2.0, y, x); }, [&] { static_cast<void>(vectors.dot(x, y)); }};
  for (size_t k = 0; k < works.size(); ++k) {
    SCOPED_TRACE("operation " + std::to_string(k));
    const TouchRecorder recorder(x);
    works[k]();
    expect_parts(x, recorder.threads(), borders);
  }
}

TEST_F(FirstTouchTest, AKernelTouchesItsRowsOfTheResult) {
  // Rows that grow longer: parts of equal nonzeros are not parts of equal rows.
  std::vector<std::vector<kernels::CsrBlock::Entry>> rows(20'000);
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t k = 0; k <= row / 2000; ++k)
      rows[row].push_back({.column = static_cast<int32_t>(100 * k + row % 100), .value = 1.0});
  }
  const auto block = kernels::CsrBlock::from_rows(1000, rows);
  const auto borders = kernels::split_rows_by_nonzeros(block.row_starts.span(), thread_count);
  const HugePageVector p(1000, 1.0);
  const HugePageVector p_rows(rows.size(), 1.0);
  for (const auto& row : kernels::kernel_table()) {
    if (!row.why_unavailable().empty()) continue;
    SCOPED_TRACE(std::string(row.name));
    const auto kernel = row.make(block.copy(), {.thread_count = thread_count});
    HugePageVector q(rows.size());
    HugePageVector q_columns(row.stores_half() ? 1000 : 0);
    const TouchRecorder recorder(q);
    kernel->multiply({.p_columns = p, .p_rows = p_rows, .q_rows = q, .q_columns = q_columns});
    expect_parts(q, recorder.threads(), borders);
  }
}

TEST_F(FirstTouchTest, EachThreadMakesItsPartOfAKernelsFormat) {
  auto problem = test::custom_problem(6000, 5, 10.0, 1);
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  for (const auto& kernel : kernels::kernel_table()) {
    if (!kernel.why_unavailable().empty()) continue;
    SCOPED_TRACE(std::string(kernel.name));
    // Generated on one thread, which has touched all of it.
    auto block = default_source().make(problem)->build(layout, test::group(), 1).block;
    std::unique_ptr<BlockProduct> product;
    const auto pages = touched_pages([&] {
      product = make_block_product(kernel, std::move(block), layout, 0, {.thread_count = thread_count});
    });
    const auto share = product->matrix_byte_count() / thread_count / static_cast<int64_t>(page_size());
    EXPECT_GE(share, 20);
    for (const auto count : pages) EXPECT_GE(count, share / 2);
  }
}

TEST_F(FirstTouchTest, EachThreadTouchesItsPartOfTheSolversVectors) {
  auto problem = test::custom_problem(100'000, 1, 10.0, 1);
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  for (const auto* name : {"sell", "symmetric"}) {
    SCOPED_TRACE(name);
    const auto matrix =
        test::assembled(default_source().make(problem)->build(layout, test::group(), 1).block, layout,
                        {.kernel = &kernels::kernel_named(name), .thread_count = thread_count});
    const auto share =
        static_cast<int64_t>(static_cast<size_t>(problem.n) * sizeof(double) / thread_count / page_size());
    std::unique_ptr<NpbIteration> solver;
    const auto pages_of_x =
        touched_pages([&] { solver = std::make_unique<NpbIteration>(*matrix, problem.shift); });
    const auto others = touched_pages([&] { static_cast<void>(solver->outer_step()); });
    for (const auto count : pages_of_x) EXPECT_GE(count, share - 2);
    for (const auto count : others) EXPECT_GE(count, 4 * (share - 2)) << "z, r, p and q";
  }
}

}  // namespace
}  // namespace cg2d::first_touch_test
