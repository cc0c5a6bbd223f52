// Times the reading of a matrix from a file, and its parts: the bytes, the text, the rows on their ranks, the blocks;
// the same for the binary form. Writes the file itself, and deletes it. Start it with mpiexec.
//
// Each part is timed between a barrier and the end of the slowest rank.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_flags.hpp"
#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/files/market_file.hpp"
#include "cg/matrix/files/matrix_file.hpp"
#include "comm/rank_group.hpp"
#include "kernels/page_buffer.hpp"

namespace {

using cg2d::comm::RankGroup;

struct BenchOptions {
  std::string matrix;  // decimals, laplace, pattern
  int megabytes = 0;
  int repeat_count = 0;
  bool warms_memory = false;
  std::string folder;
};

// ---------------------------------------------------------------- the files

template <typename... Values>
void add(cg2d::OutputFile& file, fmt::format_string<Values...> format, Values&&... values) {
  file.write(fmt::format(format, std::forward<Values>(values)...));
}

/// The lower triangle of a Laplacian with 7 points: short lines, values of one digit, neighbouring columns.
void write_laplacian(cg2d::OutputFile& file, double byte_count) {
  constexpr double bytes_per_row = 75.0;
  const auto n = static_cast<int64_t>(std::cbrt(byte_count / bytes_per_row));
  const int64_t order = n * n * n;
  add(file, "%%MatrixMarket matrix coordinate real symmetric\n{0} {0} {1}\n", order, 4 * order - 3 * n * n);
  for (int64_t i = 0; i < order; ++i) {
    if (i >= n * n) add(file, "{} {} -1\n", i + 1, i - n * n + 1);
    if (i / n % n > 0) add(file, "{} {} -1\n", i + 1, i - n + 1);
    if (i % n > 0) add(file, "{} {} -1\n", i + 1, i);
    add(file, "{0} {0} 6\n", i + 1);
  }
}

/// The lower triangle of a matrix with 20 (pattern: 45) random columns per row, one from each of as many equal parts
/// of the row; values of 6 to 17 digits.
void write_random(cg2d::OutputFile& file, double byte_count, bool is_pattern) {
  const int64_t per_row = is_pattern ? 45 : 20;
  const auto order = static_cast<int64_t>(byte_count / (is_pattern ? 645.0 : 610.0));
  add(file, "%%MatrixMarket matrix coordinate {0} symmetric\n{1} {1} {2}\n", is_pattern ? "pattern" : "real",
      order, order + (order - per_row) * per_row);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> value(-1.0, 0.0);
  for (int64_t i = 0; i < order; ++i) {
    const int64_t width = i / per_row;
    for (int64_t k = 0; k < (width > 0 ? per_row : 0); ++k) {
      const auto column = k * width + static_cast<int64_t>(random() % static_cast<uint64_t>(width));
      add(file, "{} {}", i + 1, column + 1);
      if (!is_pattern) add(file, " {:.{}g}", value(random), 6 + random() % 12);
      add(file, "\n");
    }
    add(file, is_pattern ? fmt::runtime("{0} {0}\n") : fmt::runtime("{0} {0} {1}\n"), i + 1, 2 * per_row);
  }
}

void write_matrix(const BenchOptions& options, const std::string& path) {
  cg2d::OutputFile file(path);
  const double byte_count = 1e6 * options.megabytes;
  if (options.matrix == "laplace") {
    write_laplacian(file, byte_count);
  } else {
    write_random(file, byte_count, options.matrix == "pattern");
  }
  file.commit();
}

/// A folder of this job, with what is in it.
class OwnFolder {
 public:
  OwnFolder(const std::string& parent, RankGroup& group) : is_mine_(group.rank() == 0) {
    path_ = group.broadcast(fmt::format("{}/cg2d_reading_bench_{}", parent, ::getpid()));
    cg2d::agree_on(group, [&] {
      std::error_code error;
      if (is_mine_) std::filesystem::create_directory(path_, error);
      if (error)
        throw cg2d::RunError(cg2d::ExitCode::cannot_create, "cannot create {}: {}", path_, error.message());
    });
  }
  ~OwnFolder() {
    std::error_code ignored;
    if (is_mine_) std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_mine_;
};

// ---------------------------------------------------------------- what is timed

/// Seconds of the slowest rank.
template <typename Call>
double seconds_of(RankGroup& group, const Call& call) {
  group.barrier();
  const cg2d::Stopwatch stopwatch;
  call();
  return group.maximum(stopwatch.seconds());
}

/// Calls visit(lines) for the blocks of this rank's share of the file.
template <typename Visit>
void for_each_block(const std::string& path, RankGroup& group, int64_t body_offset, const Visit& visit) {
  cg2d::LineBlocks blocks(path);
  const auto size = blocks.source().size() - body_offset;
  blocks.start(body_offset + size * group.rank() / group.size(),
               body_offset + size * (group.rank() + 1) / group.size());
  for (auto lines = blocks.next(); !lines.empty(); lines = blocks.next()) visit(lines);
}

/// Writes to as many pages as the rank is going to need, and gives them back. Where the host of a virtual machine takes
/// free pages away, the first write to one costs more than all that is done with it later.
void warm_memory(size_t byte_count) {
  constexpr size_t page_bytes = 4096;
  cg2d::kernels::PageBuffer<char> buffer(byte_count);
  for (size_t k = 0; k < byte_count; k += page_bytes) buffer[k] = 1;
}

struct Seconds {
  std::vector<double> bytes, parsing, reading, blocks, writing, cached;
};

class ReadingUnderTest {
 public:
  /// warmed_bytes: of memory, before each part that takes much.
  ReadingUnderTest(const OwnFolder& folder, size_t warmed_bytes, RankGroup& group)
      : text_path_(folder.path() + "/matrix.mtx"),
        cache_path_(folder.path() + "/matrix.cg2d"),
        warmed_bytes_(warmed_bytes),
        group_(group) {}

  const std::string& text_path() const { return text_path_; }
  const std::string& cache_path() const { return cache_path_; }
  int64_t block_bytes() const { return block_bytes_; }

  /// The first call: reads as cg2d solve does, so that the peak of memory is that of reading.
  void read_text(Seconds& seconds) {
    warm_memory(warmed_bytes_);
    std::unique_ptr<cg2d::SystemMatrix> matrix;
    seconds.reading.push_back(seconds_of(group_, [&] { matrix = read(text_path_); }));
    cg2d::kernels::CsrBlock block;
    seconds.blocks.push_back(seconds_of(group_, [&] { block = take_block(*matrix); }));
    check(block);
  }

  void read_parts(Seconds& seconds) {
    const auto located = cg2d::read_market_header(text_path_);
    int64_t sum = 0;  // sum of what is read, so that the compiler drops nothing
    seconds.bytes.push_back(seconds_of(group_, [&] {
      for_each_block(text_path_, group_, located.body_offset,
                     [&](std::string_view lines) { sum += std::ssize(lines); });
    }));
    seconds.parsing.push_back(seconds_of(group_, [&] {
      for_each_block(text_path_, group_, located.body_offset, [&](std::string_view lines) {
        cg2d::parse_entries(lines, located.header, [&](const cg2d::MatrixEntry& entry) {
          sum += entry.column + (entry.value < 0.5 ? 1 : 0);
        });
      });
    }));
    if (sum == 0) throw cg2d::RunError(cg2d::ExitCode::internal, "no entries");
  }

  void write_and_read_cache(Seconds& seconds) {
    {
      const auto matrix = cg2d::read_market_matrix({.path = text_path_}, group_);
      seconds.writing.push_back(seconds_of(group_, [&] { cg2d::write_cache(*matrix, cache_path_, group_); }));
    }
    warm_memory(warmed_bytes_);
    cg2d::kernels::CsrBlock block;
    seconds.cached.push_back(seconds_of(group_, [&] { block = take_block(*read(cache_path_)); }));
    check(block);
  }

 private:
  /// Reads a matrix as cg2d solve does: with its checks.
  std::unique_ptr<cg2d::SystemMatrix> read(const std::string& path) {
    auto matrix = cg2d::open_matrix({.path = path}, group_);
    matrix->require_symmetric(group_);
    matrix->require_positive_diagonal(group_);
    return matrix;
  }

  cg2d::kernels::CsrBlock take_block(cg2d::SystemMatrix& matrix) {
    const auto starts = matrix.balanced_piece_starts(cg2d::comm::equal_shares(group_.size()), group_);
    matrix.set_piece_starts(starts);
    const cg2d::comm::BlockLayout layout({.columns = 1, .rows = group_.size()}, starts);
    return matrix.take(layout, group_);
  }

  /// Throws RunError where the block of the text and that of the binary form differ, or those of two readings.
  void check(const cg2d::kernels::CsrBlock& block) {
    const std::array<int64_t, 3> sums{block.nonzero_count(),
                                      cg2d::crc32c(std::as_bytes(block.columns.span())),
                                      cg2d::crc32c(std::as_bytes(block.values.span()))};
    if (block_bytes_ == 0) sums_ = sums;
    block_bytes_ = block.byte_count();
    if (group_.minimum(int64_t{sums == sums_ ? 1 : 0}) == 0)
      throw cg2d::RunError(cg2d::ExitCode::internal, "two readings give different blocks");
  }

  std::string text_path_;
  std::string cache_path_;
  size_t warmed_bytes_;
  RankGroup& group_;
  int64_t block_bytes_ = 0;
  std::array<int64_t, 3> sums_{};  // nonzeros, and CRC-32C of columns and values, of the first block
};

// ---------------------------------------------------------------- the table

void print_row(RankGroup& group, std::string_view name, const std::string& path,
               std::vector<double> seconds) {
  const auto sample = cg2d::sample_of(std::move(seconds));
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  if (group.rank() == 0)
    fmt::print("{:<34} {:>8.3f} {:>8.3f} {:>8.3f} {:>12.0f}\n", name, sample.median, sample.minimum,
               sample.maximum, 1e-6 * bytes / sample.median / group.size());
}

void print_table(RankGroup& group, const ReadingUnderTest& reading, const Seconds& seconds) {
  if (group.rank() == 0)
    fmt::print("{:<34} {:>8} {:>8} {:>8} {:>12}\n", "seconds", "median", "least", "most", "MB/s/rank");
  print_row(group, "bytes of the text", reading.text_path(), seconds.bytes);
  print_row(group, "bytes, and parsing", reading.text_path(), seconds.parsing);
  print_row(group, "reading: rows stored and checked", reading.text_path(), seconds.reading);
  print_row(group, "then: rows to blocks", reading.text_path(), seconds.blocks);
  print_row(group, "writing the binary form", reading.cache_path(), seconds.writing);
  print_row(group, "binary form to blocks, checked", reading.cache_path(), seconds.cached);
}

/// Peaks of the ranks beside the bound of the project: 1.3 times (blocks + 128 MB).
void print_memory(RankGroup& group, int64_t peak_bytes, int64_t block_bytes) {
  constexpr int64_t message_bytes = int64_t{128} << 20;
  const auto peak = group.maximum(peak_bytes);
  const double share = static_cast<double>(peak_bytes) / static_cast<double>(block_bytes + message_bytes);
  const double largest_share = group.maximum(share);
  if (group.rank() == 0)
    fmt::print("peak memory of a rank {:.0f} MB, at most {:.2f} x (its block + 128 MiB)\n",
               1e-6 * static_cast<double>(peak), largest_share);
}

void run(cg2d::bench::Flags& flags, RankGroup& group) {
  BenchOptions options;
  options.matrix = flags.take_choice("matrix", {"decimals", "laplace", "pattern"});
  options.megabytes = flags.take_count("megabytes", 1000);
  options.repeat_count = flags.take_count("repeats", 3);
  options.warms_memory = flags.take_choice("warm", {"no", "yes"}) == "yes";
  options.folder = flags.take("folder", std::filesystem::temp_directory_path().string());
  flags.require_nothing_left();
  group.waiter().set_mode(cg2d::inspect_environment(group, 1).wait_mode());
  const OwnFolder folder(options.folder, group);
  const auto file_bytes = size_t{1'000'000} * static_cast<size_t>(options.megabytes);
  ReadingUnderTest reading(
      folder, options.warms_memory ? 2 * file_bytes / static_cast<size_t>(group.size()) : 0, group);
  cg2d::agree_on(group, [&] {
    if (group.rank() == 0) write_matrix(options, reading.text_path());
  });
  Seconds seconds;
  reading.read_text(seconds);
  const auto peak_bytes = cg2d::peak_resident_bytes();
  for (int k = 0; k < options.repeat_count; ++k) {
    reading.read_parts(seconds);
    if (k > 0) reading.read_text(seconds);
    reading.write_and_read_cache(seconds);
  }
  if (group.rank() == 0) fmt::print("{} ranks, {}\n", group.size(), options.matrix);
  print_table(group, reading, seconds);
  print_memory(group, peak_bytes, reading.block_bytes());
}

}  // namespace

int main(int argument_count, char** arguments) {
  return cg2d::bench::run_ranks("reading_bench", argument_count, arguments, run);
}
