#pragma once

// The part that the benchmarks of products have in common: kernels that are checked before they are timed,
// and the figures that are reported.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_flags.hpp"
#include "bench/instruction_counter.hpp"
#include "cg/base/process_memory.hpp"
#include "kernels/machine_rates.hpp"
#include "kernels/product_check.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::bench {

/// A kernel and its settings.
struct KernelConfig {
  std::string label;  ///< in the names of benchmarks
  const kernels::KernelRow* row = nullptr;
  kernels::KernelOptions options{};
};

/// All kernels that this processor can run but those with a use for some matrices only (KernelRow::has_use_for), in the order of the table:
/// each with its preferred loop, and with its other ones as "<kernel>:<instruction set>" if all are wanted.
std::vector<KernelConfig> kernel_configs(const kernels::KernelOptions& options, bool has_all_loops = false);

/// A block with operands, and the sums of its products.
class ReferenceBlock {
 public:
  ReferenceBlock(kernels::CsrBlock block, kernels::Storage storage);

  const kernels::CsrBlock& block() const { return block_; }
  /// The operands of a product, with results from the caller: row_count and column_count doubles.
  kernels::Operands operands(std::span<double> q_rows, std::span<double> q_columns) const {
    return {.p_columns = p_columns_, .p_rows = p_rows_, .q_rows = q_rows, .q_columns = q_columns};
  }
  bool is_right(std::span<const double> q_rows, std::span<const double> q_columns) const {
    const auto agree = [](const kernels::KnownSum& sum, double value) { return sum.error_of(value) <= 1.0; };
    return std::ranges::equal(rows_, q_rows, agree) && std::ranges::equal(columns_, q_columns, agree);
  }

 private:
  kernels::CsrBlock block_;
  HugePageVector p_columns_;  // as in the program
  HugePageVector p_rows_;
  std::vector<kernels::KnownSum> rows_;
  std::vector<kernels::KnownSum> columns_;  // empty for whole storage
};

/// A kernel that was made for a copy of a block, and has multiplied it once.
class CheckedKernel {
 public:
  /// The block must outlive the kernel.
  CheckedKernel(const KernelConfig& config, const ReferenceBlock& reference);

  /// The fault of the first product; empty if it was right.
  const std::string& fault() const { return fault_; }
  const kernels::SpmvKernel& kernel() const { return *kernel_; }
  /// The time of making the kernel from a CSR block that was there.
  double conversion_ms() const { return conversion_ms_; }
  void multiply() { kernel_->multiply(operands_); }

 private:
  void make(const KernelConfig& config, kernels::CsrBlock block);
  void check(const KernelConfig& config, const ReferenceBlock& reference);

  std::unique_ptr<kernels::SpmvKernel> kernel_;
  HugePageVector q_rows_;
  HugePageVector q_columns_;
  kernels::Operands operands_;
  double conversion_ms_ = 0.0;
  std::string fault_;
};

/// A block that is made on demand.
struct BlockSource {
  std::string name;
  std::function<kernels::CsrBlock()> make;
  std::function<void(kernels::CsrBlock&)> keep_half;  ///< drops one entry of each mirrored pair
  int row_length = 0;                                 ///< length of every row; 0: the lengths differ
};

/// Measures the read bandwidth by ReadWork, and keeps the rates that it has measured.
class ReadBandwidth {
 public:
  /// thread_count: OpenMP threads, >= 1.
  explicit ReadBandwidth(int thread_count) : thread_count_(thread_count) {}

  /// GB/s (10^9 bytes) of reading `byte_count` bytes again and again: the best of several batches of passes.
  /// byte_count is rounded to a power of 2^(1/4), and each such size is measured once. Cost: 0.5 to 4 GB of
  /// reading. Throws std::runtime_error if a sum is wrong, std::bad_alloc.
  double at(int64_t byte_count);

 private:
  double measure(int64_t byte_count) const;

  int thread_count_;
  std::map<long, double> measured_;  // GB/s by the size's exponent, in quarters
};

/// Times kernels on blocks, or counts their instructions. Keeps the block and the kernel of the last benchmark: Google Benchmark calls one
/// several times to find its iteration count.
class Workbench {
 public:
  /// counter: counts a product's instructions, and nothing is timed; none: the other way round.
  explicit Workbench(int thread_count, std::optional<InstructionCounter> counter = {})
      : read_bandwidth_(thread_count), counter_(std::move(counter)) {}

  /// Sets the counters. A wrong result is an error of the state, and nothing is measured.
  void measure(benchmark::State& state, const BlockSource& source, const KernelConfig& config);
  /// None: products are timed.
  const std::optional<InstructionCounter>& counter() const { return counter_; }
  const bool& found_faults() const { return found_faults_; }

 private:
  void prepare(const BlockSource& source, const KernelConfig& config);
  const ReferenceBlock& block_for(const BlockSource& source, const KernelConfig& config);
  void time(benchmark::State& state);
  void count(benchmark::State& state);
  void set_counters(benchmark::State& state, const BlockSource& source);
  double nonzero_count() const { return static_cast<double>(whole_->block().nonzero_count()); }

  ReadBandwidth read_bandwidth_;
  std::optional<InstructionCounter> counter_;
  std::string block_name_;
  std::optional<ReferenceBlock> whole_;
  std::optional<ReferenceBlock> half_;
  std::string kernel_label_;
  std::optional<CheckedKernel> kernel_;
  bool found_faults_ = false;
};

/// A benchmark named <block>/<label>, in wall time, or of one product where instructions are counted.
void register_product(Workbench& workbench, const BlockSource& source, const KernelConfig& config);

/// Passes the rest of the command line to Google Benchmark and runs the registered benchmarks. Returns the
/// exit code: 1 where they find faults, which found_faults says then.
int run_registered(Flags& flags, int thread_count, const bool& found_faults);

}  // namespace cg2d::bench
