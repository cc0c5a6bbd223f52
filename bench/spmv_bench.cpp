// Every kernel of the table on blocks of the real matrices, in the shapes that the grids of 16 ranks give
// them. Each result is compared with the reference before anything is timed.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_flags.hpp"
#include "bench/generated_block.hpp"
#include "cg/errors.hpp"
#include "cg/random_stream.hpp"
#include "kernels/spmv.hpp"

namespace {

using cg2d::Problem;
using cg2d::comm::BlockLayout;
using cg2d::comm::ProcessGrid;
using cg2d::kernels::CsrBlock;
using cg2d::kernels::KernelRow;
using Clock = std::chrono::steady_clock;

/// One block to multiply: what rank 0 of a grid holds. The blocks of a grid hardly differ: positions are
/// drawn evenly.
struct BlockCase {
  Problem problem;
  ProcessGrid grid;

  [[nodiscard]] std::string name() const {
    return problem.class_name + "/" + (grid.rank_count() == 1 ? "whole" : grid.name());
  }
};

/// Numbers of (0.5, 1.5), the same in every run.
std::vector<double> operand_of(std::int64_t size) {
  cg2d::RandomStream stream;
  std::vector<double> p(static_cast<std::size_t>(size));
  for (double& value : p) value = 0.5 + cg2d::RandomStream::number(stream.next());
  return p;
}

/// A block with its operand, the reference's result and how far another order of the additions may be off.
class PreparedBlock {
 public:
  PreparedBlock(BlockCase block_case, const cg2d::SparseVectors& vectors)
      : case_(std::move(block_case)),
        block_(cg2d::bench::generate_block(case_.problem, vectors,
                                           BlockLayout::even(case_.problem.n, case_.grid), 0)),
        p_(operand_of(block_.column_count)),
        expected_(static_cast<std::size_t>(block_.row_count)) {
    cg2d::kernels::kernel_table().front().make(copy_of_block(), {})->multiply(p_, expected_);
    for (std::int64_t row = 0; row < block_.row_count; ++row) tolerances_.push_back(tolerance_of(row));
  }

  [[nodiscard]] const BlockCase& block_case() const { return case_; }
  [[nodiscard]] const CsrBlock& block() const { return block_; }
  [[nodiscard]] std::span<const double> operand() const { return p_; }
  [[nodiscard]] CsrBlock copy_of_block() const { return cg2d::bench::copy_of(block_); }

  [[nodiscard]] bool is_right(std::span<const double> q) const {
    for (std::size_t row = 0; row < q.size(); ++row) {
      if (!(std::abs(q[row] - expected_[row]) <= tolerances_[row])) return false;  // catches NaN, too
    }
    return true;
  }

 private:
  /// Two sums of L products in any two orders differ by at most 2 L u sum |a p|, u = 2^-53 (Higham, Accuracy
  /// and Stability of Numerical Algorithms, section 3.1; terms of u^2 are covered by the numbers being
  /// rounded up).
  [[nodiscard]] double tolerance_of(std::int64_t row) const {
    const auto begin = static_cast<std::size_t>(block_.row_starts[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(block_.row_starts[static_cast<std::size_t>(row) + 1]);
    double magnitude = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      magnitude += std::abs(block_.values[k] * p_[static_cast<std::size_t>(block_.columns[k])]);
    }
    return static_cast<double>(end - begin + 1) * std::numeric_limits<double>::epsilon() * magnitude;
  }

  BlockCase case_;
  CsrBlock block_;
  std::vector<double> p_;
  std::vector<double> expected_;
  std::vector<double> tolerances_;
};

/// Keeps what the last benchmark needed: Google Benchmark calls one several times to find its iteration
/// count.
class Workbench {
 public:
  explicit Workbench(int thread_count) : thread_count_(thread_count) {}

  [[nodiscard]] bool found_faults() const { return found_faults_; }

  void time(benchmark::State& state, const BlockCase& block_case, const KernelRow& row) {
    prepare(block_case, row);
    if (!fault_.empty()) {
      found_faults_ = true;
      state.SkipWithError(fault_.c_str());
      return;
    }
    const auto start = Clock::now();
    for ([[maybe_unused]] auto iteration : state) {
      kernel_->multiply(prepared_->operand(), q_);
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    const double ns_per_product = elapsed.count() / static_cast<double>(state.iterations());
    // Plain numbers: the rates of Google Benchmark carry units of their own.
    const auto nonzeros = static_cast<double>(prepared_->block().nonzero_count());
    state.counters["ns_per_nonzero"] = ns_per_product / nonzeros;
    state.counters["GB/s"] = static_cast<double>(kernel_->matrix_byte_count()) / ns_per_product;
    state.counters["nonzeros_per_row"] = nonzeros / static_cast<double>(prepared_->block().row_count);
  }

 private:
  void prepare(const BlockCase& block_case, const KernelRow& row) {
    if (vectors_of_ != block_case.problem.class_name) {
      vectors_ = cg2d::bench::draw_all_vectors(block_case.problem);
      vectors_of_ = block_case.problem.class_name;
    }
    if (!prepared_ || prepared_->block_case().name() != block_case.name()) {
      kernel_.reset();
      prepared_.reset();
      prepared_ = std::make_unique<PreparedBlock>(block_case, vectors_);
    }
    if (kernel_ && kernel_of_ == row.name) return;
    kernel_ = row.make(prepared_->copy_of_block(), {.thread_count = thread_count_});
    kernel_of_ = row.name;
    check(row);
  }

  void check(const KernelRow& row) {
    q_.assign(static_cast<std::size_t>(prepared_->block().row_count),
              std::numeric_limits<double>::quiet_NaN());
    kernel_->multiply(prepared_->operand(), q_);
    fault_.clear();
    if (kernel_->name() != row.name) fault_ = "another kernel ran: " + std::string(kernel_->name());
    if (!prepared_->is_right(q_)) fault_ = "the result differs from the reference";
  }

  int thread_count_;
  bool found_faults_ = false;
  cg2d::SparseVectors vectors_;
  std::string vectors_of_;
  std::unique_ptr<PreparedBlock> prepared_;
  std::unique_ptr<cg2d::kernels::SpmvKernel> kernel_;
  std::string kernel_of_;
  std::string fault_;
  std::vector<double> q_;
};

std::vector<BlockCase> cases_of(const Problem& problem) {
  constexpr int rank_count = 16;
  constexpr int most_columns = 8;
  std::vector<BlockCase> cases{{.problem = problem, .grid = {.columns = 1, .rows = 1}}};
  for (int columns = 1; columns <= most_columns; columns *= 2) {
    cases.push_back({.problem = problem, .grid = {.columns = columns, .rows = rank_count / columns}});
  }
  return cases;
}

void register_all(const std::vector<Problem>& problems, Workbench& workbench) {
  for (const auto& row : cg2d::kernels::kernel_table()) {
    if (const auto reason = row.why_unavailable(); !reason.empty()) {
      std::fprintf(stderr, "spmv_bench: no %s here: %s\n", std::string(row.name).c_str(), reason.c_str());
    }
  }
  for (const auto& problem : problems) {
    for (const auto& block_case : cases_of(problem)) {
      for (const auto& row : cg2d::kernels::kernel_table()) {
        if (!row.why_unavailable().empty()) continue;
        const auto name = block_case.name() + "/" + std::string(row.name);
        benchmark::RegisterBenchmark(name.c_str(), [&workbench, block_case, &row](benchmark::State& state) {
          workbench.time(state, block_case, row);
        })->UseRealTime();
      }
    }
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    cg2d::bench::Flags flags(argument_count, arguments);
    const auto problems = flags.take_classes("SWA");
    Workbench workbench(flags.take_count("threads", 1));
    auto rest = flags.rest();
    int rest_count = static_cast<int>(rest.size());
    benchmark::Initialize(&rest_count, rest.data());
    if (benchmark::ReportUnrecognizedArguments(rest_count, rest.data())) {
      return static_cast<int>(cg2d::ExitCode::usage);
    }
    register_all(problems, workbench);
    const bool ran = benchmark::RunSpecifiedBenchmarks() > 0;
    return ran && !workbench.found_faults() ? 0 : 1;
  } catch (const cg2d::InputError& error) {
    std::fprintf(stderr, "spmv_bench: %s\n", error.what());
    return static_cast<int>(cg2d::ExitCode::usage);
  }
}
