#include "bench/checked_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "bench/generated_block.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/npb_vectors.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d::bench {
namespace {

/// Numbers of (0.5, 1.5), the same in every run.
HugePageVector operand_of(int64_t size, RandomStream& stream) {
  HugePageVector p(static_cast<size_t>(size));
  for (double& value : p) value = 0.5 + RandomStream::number(stream.next());
  return p;
}

}  // namespace

double ReadBandwidth::at(int64_t byte_count) {
  constexpr double steps_per_power = 4.0;
  const long exponent = std::lround(steps_per_power * std::log2(static_cast<double>(byte_count)));
  const auto known = measured_.find(exponent);
  if (known != measured_.end()) return known->second;
  const auto rounded = std::llround(std::exp2(static_cast<double>(exponent) / steps_per_power));
  return measured_[exponent] = measure(rounded);
}

double ReadBandwidth::measure(int64_t byte_count) const {
  constexpr int batch_count = 16;
  constexpr int64_t batch_byte_count = int64_t{1} << 25;  // far longer than a barrier of the threads
  kernels::ReadWork work(thread_count_, byte_count);
  const auto pass_count = std::max<int64_t>(batch_byte_count / work.byte_count(), 1);
  double shortest_s = std::numeric_limits<double>::infinity();
  bool is_right = true;
  for (int batch = 0; batch < batch_count; ++batch) {
    const Stopwatch stopwatch;
    is_right = work.read(pass_count) && is_right;
    shortest_s = std::min(shortest_s, stopwatch.seconds());
  }
  if (!is_right) throw std::runtime_error("the loop that measures the read bandwidth has a wrong sum");
  constexpr double bytes_per_gigabyte = 1e9;
  return static_cast<double>(work.byte_count() * pass_count) / shortest_s / bytes_per_gigabyte;
}

std::vector<KernelConfig> kernel_configs(const kernels::KernelOptions& options, bool has_all_loops) {
  std::vector<KernelConfig> configs;
  for (const auto& row : kernels::kernel_table()) {
    // Blocks here are no places of a matrix, so a kernel that needs to know them finds nothing.
    if (row.has_use_for != nullptr) continue;
    configs.push_back({.label = std::string(row.name), .row = &row, .options = options});
    if (!has_all_loops) continue;
    for (const auto set : row.instruction_sets) {
      if (set == row.preferred_instruction_set()) continue;
      auto& config = configs.emplace_back(configs.back());
      config.label = std::string(row.name) + ":" + std::string(name_of(set));
      config.options.instruction_set = set;
    }
  }
  return configs;
}

ReferenceBlock::ReferenceBlock(kernels::CsrBlock block, kernels::Storage storage)
    : block_(std::move(block)),
      rows_(static_cast<size_t>(block_.row_count)),
      columns_(storage == kernels::Storage::half ? static_cast<size_t>(block_.column_count) : 0) {
  RandomStream stream;
  p_columns_ = operand_of(block_.column_count, stream);
  p_rows_ = operand_of(block_.row_count, stream);
  const auto add = [](kernels::KnownSum& known, double product) {
    known.sum += product;
    known.rounding += std::abs(product);  // of magnitudes at first; the bound itself at the end
  };
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  std::vector<double> bounds(columns_.size(), 2.0 * epsilon);
  for (size_t row = 0; row < rows_.size(); ++row) {
    const auto begin = static_cast<size_t>(block_.row_starts[row]);
    const auto end = static_cast<size_t>(block_.row_starts[row + 1]);
    for (auto k = begin; k < end; ++k) {
      const auto column = static_cast<size_t>(block_.columns[k]);
      add(rows_[row], block_.values[k] * p_columns_[column]);
      if (columns_.empty()) continue;
      add(columns_[column], block_.values[k] * p_rows_[row]);
      bounds[column] += epsilon;
    }
    rows_[row].rounding *= epsilon * static_cast<double>(end - begin + 2);
  }
  for (size_t column = 0; column < columns_.size(); ++column) columns_[column].rounding *= bounds[column];
}

CheckedKernel::CheckedKernel(const KernelConfig& config, const ReferenceBlock& reference)
    : q_rows_(static_cast<size_t>(reference.block().row_count), std::numeric_limits<double>::quiet_NaN()),
      q_columns_(config.row->stores_half() ? static_cast<size_t>(reference.block().column_count) : 0,
                 std::numeric_limits<double>::quiet_NaN()),
      operands_(reference.operands(q_rows_, q_columns_)) {
  make(config, reference.block().copy());
  check(config, reference);
}

void CheckedKernel::make(const KernelConfig& config, kernels::CsrBlock block) {
  const Stopwatch stopwatch;
  kernel_ = config.row->make(std::move(block), config.options);
  conversion_ms_ = 1e3 * stopwatch.seconds();
}

void CheckedKernel::check(const KernelConfig& config, const ReferenceBlock& reference) {
  multiply();
  if (kernel_->name() != config.row->name) fault_ = "another kernel ran: " + std::string(kernel_->name());
  if (!reference.is_right(q_rows_, q_columns_)) fault_ = "the result differs from the reference";
}

void Workbench::measure(benchmark::State& state, const BlockSource& source, const KernelConfig& config) {
  prepare(source, config);
  if (!kernel_->fault().empty()) {
    found_faults_ = true;
    state.SkipWithError(kernel_->fault().c_str());
    return;
  }
  counter_ ? count(state) : time(state);
  set_counters(state, source);
}

void Workbench::time(benchmark::State& state) {
  const Stopwatch stopwatch;
  for ([[maybe_unused]] auto iteration : state) {
    kernel_->multiply();
    benchmark::ClobberMemory();
  }
  const double ns_per_product = 1e9 * stopwatch.seconds() / static_cast<double>(state.iterations());
  const auto bytes = static_cast<double>(kernel_->kernel().matrix_byte_count());
  const double bandwidth = read_bandwidth_.at(kernel_->kernel().matrix_byte_count());
  state.counters["ns_per_nonzero"] = ns_per_product / nonzero_count();
  state.counters["GB/s"] = bytes / ns_per_product;
  state.counters["read_bandwidth_GB/s"] = bandwidth;
  state.counters["share_of_read_bandwidth"] = bytes / ns_per_product / bandwidth;
  state.counters["conversion_ms"] = kernel_->conversion_ms();
}

void Workbench::count(benchmark::State& state) {
  int64_t instructions = 0;
  for ([[maybe_unused]] auto iteration : state) instructions = counter_->count([&] { kernel_->multiply(); });
  state.counters["instructions_per_nonzero"] = static_cast<double>(instructions) / nonzero_count();
  for (const auto set : kernels::all_instruction_sets) {
    if (name_of(set) == kernel_->kernel().instruction_set())
      state.counters["register_bits"] = register_bits(set);
  }
}

void Workbench::prepare(const BlockSource& source, const KernelConfig& config) {
  if (kernel_ && block_name_ == source.name && kernel_label_ == config.label) return;
  kernel_.reset();  // before another one takes its memory
  kernel_.emplace(config, block_for(source, config));
  kernel_label_ = config.label;
}

const ReferenceBlock& Workbench::block_for(const BlockSource& source, const KernelConfig& config) {
  if (!whole_ || block_name_ != source.name) {
    half_.reset();
    whole_.reset();
    whole_.emplace(source.make(), kernels::Storage::whole);
    block_name_ = source.name;
  }
  if (!config.row->stores_half()) return *whole_;
  if (!half_) {
    auto block = whole_->block().copy();
    source.keep_half(block);
    half_.emplace(std::move(block), kernels::Storage::half);
  }
  return *half_;
}

// Per nonzero of the whole block, so that kernels of both storages can be compared. Plain numbers: the rates of Google Benchmark carry
// units of their own.
void Workbench::set_counters(benchmark::State& state, const BlockSource& source) {
  const auto bytes = static_cast<double>(kernel_->kernel().matrix_byte_count());
  state.counters["format_bytes_per_nonzero"] = bytes / nonzero_count();
  constexpr double bytes_per_megabyte = 1e6;
  state.counters["matrix_MB"] = bytes / bytes_per_megabyte;
  state.counters["nonzeros_per_row"] = nonzero_count() / static_cast<double>(whole_->block().row_count);
  if (source.row_length > 0) state.counters["row_length"] = source.row_length;
  state.SetLabel(std::string(kernel_->kernel().instruction_set()));
}

void register_product(Workbench& workbench, const BlockSource& source, const KernelConfig& config) {
  const auto name = source.name + "/" + config.label;
  auto* const registered =
      benchmark::RegisterBenchmark(name.c_str(), [&workbench, source, config](benchmark::State& state) {
        workbench.measure(state, source, config);
      })->UseRealTime();
  if (workbench.counter()) registered->Iterations(1);
}

int run_registered(Flags& flags, int thread_count, const bool& found_faults) {
  auto rest = flags.rest();
  int rest_count = static_cast<int>(rest.size());
  benchmark::Initialize(&rest_count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(rest_count, rest.data())) {
    return static_cast<int>(ExitCode::usage);
  }
  benchmark::AddCustomContext("threads", std::to_string(thread_count));
  const bool ran = benchmark::RunSpecifiedBenchmarks() > 0;
  return ran && !found_faults ? 0 : 1;
}

}  // namespace cg2d::bench
