// Finds the row length from which on vectors pay: every kernel on blocks whose rows all have the same length. Each result is compared
// with the reference before anything is timed, or with --count its instructions counted.

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/bench_flags.hpp"
#include "bench/checked_kernel.hpp"
#include "cg/matrix/half_storage.hpp"
#include "comm/block_layout.hpp"

namespace {

using cg2d::bench::BlockSource;
using cg2d::bench::Flags;
using cg2d::bench::KernelConfig;
using cg2d::bench::Workbench;
using cg2d::kernels::CsrBlock;

/// Class B (n = 75000) on 8 process columns.
constexpr int64_t matrix_size = 75'000;
constexpr cg2d::comm::ProcessGrid grid{.columns = 8, .rows = 2};
constexpr int64_t column_count = matrix_size / grid.columns;

/// Around the widths of vectors, and the mean row lengths of the classes' blocks (23: class B on 8 columns,
/// 183: its whole rows).
constexpr std::array<int, 17> row_lengths{1, 2, 3, 4, 6, 8, 11, 16, 20, 23, 24, 32, 46, 64, 91, 128, 183};

/// Distinct columns in rising order.
void draw_columns(std::mt19937_64& random, int32_t* columns, int length) {
  int distinct = 0;
  while (distinct < length) {
    for (int k = distinct; k < length; ++k) columns[k] = static_cast<int32_t>(random() % column_count);
    std::sort(columns, columns + length);
    distinct = static_cast<int>(std::unique(columns, columns + length) - columns);
  }
}

constexpr int64_t chunk_rows = 8;  // of SELL, which fills up the last chunk with zeros

/// A block of about this many bytes in CSR.
CsrBlock block_of_rows(int length, int64_t byte_count) {
  const auto row_bytes =
      static_cast<int64_t>(sizeof(int64_t)) + length * static_cast<int64_t>(sizeof(double) + sizeof(int32_t));
  const int64_t row_count = std::max<int64_t>(byte_count / row_bytes / chunk_rows, 1) * chunk_rows;
  const auto entry_count = static_cast<size_t>(row_count * length);
  CsrBlock block{.row_count = row_count,
                 .column_count = column_count,
                 .row_starts = cg2d::kernels::PageBuffer<int64_t>(static_cast<size_t>(row_count) + 1),
                 .columns = cg2d::kernels::PageBuffer<int32_t>(entry_count),
                 .values = cg2d::kernels::PageBuffer<double>(entry_count)};
  std::mt19937_64 random(static_cast<uint64_t>(length));
  for (int64_t row = 0; row < row_count; ++row) {
    block.row_starts[static_cast<size_t>(row) + 1] = (row + 1) * length;
    draw_columns(random, block.columns.data() + row * length, length);
  }
  for (double& value : block.values.span()) value = 0.5 + static_cast<double>(random() >> 11) * 0x1p-53;
  return block;
}

/// As if the block lay above the diagonal, in a layout of one column block whose tiles have the size of the
/// grid's. Its first column is so far from the border of a tile that half of the columns are kept even where
/// the block is no higher than one tile.
void keep_half_of_tiles(CsrBlock& block) {
  const cg2d::HalfStorageRule rule(
      cg2d::comm::BlockLayout::even(matrix_size, {.columns = 1, .rows = grid.columns}));
  const int64_t tile = rule.tile_size();
  const int64_t first_column = (block.row_count / tile + 1) * tile + (tile - block.column_count % tile) / 2;
  keep_half(block, {.begin = 0, .end = block.row_count},
            {.begin = first_column, .end = first_column + block.column_count}, rule);
}

/// The kernels; those with a critical vector length for each of these lengths, and that of --cvl, if there is one.
std::vector<KernelConfig> configs_of(const cg2d::kernels::KernelOptions& options, bool has_all_loops,
                                     std::set<int> critical_lengths) {
  if (const auto length = options.tuning.critical_vector_length) critical_lengths.insert(*length);
  std::vector<KernelConfig> configs;
  for (const auto& config : cg2d::bench::kernel_configs(options, has_all_loops)) {
    if (!config.row->defaults.critical_vector_length) {
      configs.push_back(config);
      continue;
    }
    for (const int length : critical_lengths) {
      auto variant = config;
      variant.options.tuning.critical_vector_length = length;
      variant.label += "-cvl" + std::to_string(length);
      configs.push_back(variant);
    }
  }
  return configs;
}

constexpr int64_t kilobyte = 1024;

struct BlockSize {
  std::string name;
  int kilobytes;
};

/// Bytes of the largest cache of a level, or `otherwise` where the machine does not tell. Not by sysconf: the
/// C library's figures for the third level are wrong on some of AMD's processors.
int64_t cache_byte_count(int level, int64_t otherwise) {
  int64_t byte_count = 0;
  for (const auto& cache : benchmark::CPUInfo::Get().caches) {
    if (cache.level == level) byte_count = std::max<int64_t>(byte_count, cache.size);
  }
  return byte_count > 0 ? byte_count : otherwise;
}

/// Half of the second-level cache, since vectors are there, too. Three times the third-level one.
std::vector<BlockSize> take_sizes(Flags& flags) {
  const auto l2_kilobytes = cache_byte_count(2, 1024 * kilobyte) / 2 / kilobyte;
  const auto memory_kilobytes = 3 * cache_byte_count(3, 32'768 * kilobyte) / kilobyte;
  return {{.name = "L2", .kilobytes = flags.take_count("l2-kilobytes", static_cast<int>(l2_kilobytes))},
          {.name = "memory",
           .kilobytes = flags.take_count("memory-kilobytes", static_cast<int>(memory_kilobytes))}};
}

BlockSource source_of(const BlockSize& size, int length) {
  return {.name = size.name + "/" + std::to_string(length),
          .make = [=] { return block_of_rows(length, size.kilobytes * kilobyte); },
          .keep_half = keep_half_of_tiles,
          .row_length = length};
}

void register_products(Workbench& workbench, const BlockSize& size,
                       const std::vector<KernelConfig>& configs) {
  benchmark::AddCustomContext(size.name + "_kilobytes", std::to_string(size.kilobytes));
  for (const int length : row_lengths) {
    const auto source = source_of(size, length);
    for (const auto& config : configs) register_product(workbench, source, config);
  }
}

/// Always vectors, and as in the paper, whose first compiler made vectors from 50 entries on.
int time_products(Flags& flags) {
  const int thread_count = flags.take_count("threads", 1);
  const auto configs =
      configs_of({.thread_count = thread_count, .tuning = flags.take_tuning()}, false, {0, 50});
  Workbench workbench(thread_count);
  for (const auto& size : take_sizes(flags)) register_products(workbench, size, configs);
  return run_registered(flags, thread_count, workbench.found_faults());
}

/// Every loop, always with vectors. Instructions do not depend on caches.
int count_instructions(Flags& flags) {
  const auto configs = configs_of({.tuning = flags.take_tuning()}, true, {0});
  Workbench workbench(1, cg2d::bench::make_instruction_counter());
  benchmark::AddCustomContext("instructions_by", std::string(workbench.counter()->means));
  utsname system{};
  uname(&system);
  benchmark::AddCustomContext("processor", system.machine);
  register_products(workbench, {.name = "count", .kilobytes = flags.take_count("kilobytes", 256)}, configs);
  return run_registered(flags, 1, workbench.found_faults());
}

int run(Flags& flags) {
  return flags.take_switch("count") ? count_instructions(flags) : time_products(flags);
}

}  // namespace

int main(int argument_count, char** arguments) {
  return cg2d::bench::run_program("row_length_bench", argument_count, arguments, run);
}
