// Streamed blocks: the bits of the kernel with the whole block in memory, whatever stays there and whoever reads; and every trouble
// with a file of panels.

#include "cg/panels/streamed_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cg/base/storage/unnamed_file.hpp"
#include "cg/panels/panel_io.hpp"
#include "support/error_of.hpp"
#include "support/faulty_reader.hpp"
#include "support/random_blocks.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_extent.hpp"

namespace cg2d::streamed_kernel_test {
namespace {

using test::FaultKind;

constexpr int panel_count = 7;
constexpr std::array all_faults{FaultKind::error, FaultKind::short_count, FaultKind::flipped_bit};

/// All kernels that can be streamed.
std::vector<const kernels::KernelRow*> streamed_rows() {
  std::vector<const kernels::KernelRow*> rows;
  for (const auto& row : kernels::kernel_table()) {
    if (row.takes_external(1)) rows.push_back(&row);
  }
  return rows;
}

PanelFileKey key_of(const test::TestBlock& block, int vector_count = 1) {
  return {.matrix_hash = 42,
          .vector_count = vector_count,
          .row_count = std::ssize(block.rows),
          .column_count = block.column_count};
}

/// The block in panels of rows, as even as their number and the kernel's multiple allow: some are empty where there are few rows.
void write_panels(const PanelFolder& folder, const kernels::KernelRow& row, const test::TestBlock& block,
                  const kernels::KernelOptions& options = {}) {
  PanelFileWriter writer(folder.folder, folder.file_name, key_of(block, options.vector_count));
  const Strips strips{.count = panel_count, .row_multiple = row.panel_rows};
  for (int panel = 0; panel < panel_count; ++panel) {
    const auto range = strips.rows_of(panel, {.begin = 0, .end = std::ssize(block.rows)});
    const test::Rows rows(block.rows.begin() + range.begin, block.rows.begin() + range.end);
    const auto kernel = row.make(kernels::CsrBlock::from_rows(block.column_count, rows), options);
    writer.append(*kernel, std::ssize(rows));
  }
  writer.finish({.nonzero_count = 17, .row_lengths = {}, .source = {.final_seed = 3}});
}

/// A folder with the panels of a block.
struct WrittenPanels {
  WrittenPanels(const kernels::KernelRow& row, const test::TestBlock& block,
                const kernels::KernelOptions& options = {}) {
    write_panels(folder, row, block, options);
  }

  const test::TemporaryFolder place;
  const PanelFolder folder{place.path(), 0, 1};
};

/// Many rows with few entries: several windows of the kernels that convert rows together.
test::TestBlock tall_block() {
  constexpr int64_t column_count = 5000;
  test::TestBlock block{.column_count = column_count, .rows = test::Rows(15'000), .operand = {}};
  for (int64_t r = 0; r < std::ssize(block.rows); ++r) {
    auto& entries = block.rows[static_cast<size_t>(r)];
    for (int64_t c = r * 37 % 401; c < column_count; c += 350 + (r + c) % 397)
      entries.push_back(
          {.column = static_cast<int32_t>(c), .value = 1.0 / static_cast<double>(1 + (c + r) % 13)});
  }
  for (int64_t c = 0; c < column_count; ++c) block.operand.push_back(static_cast<double>(c % 31) - 15.25);
  return block;
}

/// q over the rows, and with half storage over the columns.
struct Product {
  std::vector<double> q_rows;
  std::vector<double> q_columns;

  friend bool operator==(const Product&, const Product&) = default;
};

/// Several vectors are all different.
Product product_of(kernels::SpmvKernel& kernel, const kernels::KernelRow& row, const test::TestBlock& block,
                   int vector_count = 1) {
  const auto count = static_cast<size_t>(vector_count);
  std::vector<double> p_columns(block.operand.size() * count);
  for (size_t k = 0; k < p_columns.size(); ++k)
    p_columns[k] = block.operand[k / count] + 0.3 * static_cast<double>(k % count);
  std::vector<double> p_rows(row.stores_half() ? block.rows.size() * count : 0);
  for (size_t k = 0; k < p_rows.size(); ++k) p_rows[k] = 1.0 / static_cast<double>(k + 1);
  Product product{.q_rows = std::vector<double>(block.rows.size() * count, -1.0),
                  .q_columns = std::vector<double>(row.stores_half() ? p_columns.size() : 0, -1.0)};
  kernel.multiply(
      {.p_columns = p_columns, .p_rows = p_rows, .q_rows = product.q_rows, .q_columns = product.q_columns});
  return product;
}

Product whole_product(const kernels::KernelRow& row, const test::TestBlock& block) {
  return product_of(*row.make(block.csr(), {}), row, block);
}

bool has_no_number(const Product& product) {
  const auto is_nan = [](double q) { return std::isnan(q); };
  return std::ranges::all_of(product.q_rows, is_nan) && std::ranges::all_of(product.q_columns, is_nan);
}

/// Streamed products have the bits of the kernel with the whole block, with any memory and reader; panels under way at the end of a product
/// belong to the next one.
void expect_same_bits(const kernels::KernelRow& row, const test::TestBlock& block, int vector_count,
                      const std::vector<const PanelIoRow*>& readers) {
  const kernels::KernelOptions options{.vector_count = vector_count};
  const WrittenPanels panels(row, block, options);
  const auto expected = product_of(*row.make(block.csr(), options), row, block, vector_count);
  for (const auto& memory : {StreamMemory{.resident_count = 0, .buffer_count = 2},
                             StreamMemory{.resident_count = 2, .buffer_count = 4},
                             StreamMemory{.resident_count = panel_count, .buffer_count = 0}}) {
    for (const auto* const reader : readers) {
      StreamedKernel kernel(row, options, panels.folder.existing(key_of(block, vector_count)), memory,
                            *reader);
      for (int repeat = 0; repeat < 3; ++repeat)
        ASSERT_TRUE(product_of(kernel, row, block, vector_count) == expected)
            << row.name << ", " << reader->name << ", " << vector_count << " vectors, "
            << memory.resident_count;
      EXPECT_FALSE(kernel.failure());
      EXPECT_EQ(kernel.figures().product_count, 3);
      EXPECT_EQ(kernel.figures().byte_count > 0, memory.buffer_count > 0);
    }
  }
}

TEST(StreamedKernelTest, HasTheBitsOfTheWholeBlock) {
  ASSERT_FALSE(streamed_rows().empty());
  std::vector<const PanelIoRow*> readers;
  for (const auto& reader : panel_io_table()) {
    if (reader.why_unavailable().empty()) readers.push_back(&reader);
  }
  std::vector<test::TestBlock> blocks{tall_block()};
  for (int number = 0; number < 16; ++number) blocks.push_back(test::BlockMaker(number).make());
  blocks.push_back(test::large_block());
  for (const auto* const row : streamed_rows()) {
    for (const auto& block : blocks) expect_same_bits(*row, block, 1, readers);
  }
  int several_count = 0;
  for (const auto& row : kernels::kernel_table()) {
    if (!row.takes_external(2)) continue;
    ++several_count;
    for (const auto& block : std::span(blocks).first(7)) {
      for (const int vector_count : kernels::vector_counts)
        expect_same_bits(row, block, vector_count, {&usual_panel_io()});
    }
  }
  EXPECT_GT(several_count, 0);
}

TEST(StreamedKernelTest, MemoryIsResidentBesideTheBuffers) {
  const WrittenPanels panels(*streamed_rows().front(), test::large_block());
  const PanelFile file(panels.folder.file_path());
  const auto panel = file.most_panel_bytes;
  EXPECT_FALSE(stream_memory(panel_count, panel, 2 * panel - 1, 4));
  for (int64_t room = 2; room < panel_count; ++room) {
    const auto memory = stream_memory(panel_count, panel, room * panel, 4);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->buffer_count, std::min<int64_t>(room, 4));
    EXPECT_EQ(memory->resident_count + memory->buffer_count, room);
  }
  EXPECT_EQ(stream_memory(panel_count, panel, panel_count * panel, 4)->resident_count, panel_count);
  EXPECT_EQ(stream_memory(panel_count, panel, panel_count * panel, 4)->buffer_count, 0);
}

TEST(StreamedKernelTest, MeasuringTheStorageChangesNoProduct) {
  const auto block = tall_block();
  const auto& row = *streamed_rows().front();
  const WrittenPanels panels(row, block);
  const auto expected = whole_product(row, block);
  for (const auto& reader : panel_io_table()) {
    if (!reader.why_unavailable().empty()) continue;
    StreamedKernel kernel(row, {}, std::make_unique<PanelFile>(panels.folder.file_path()),
                          {.resident_count = 2, .buffer_count = 3}, reader);
    for (int repeat = 0; repeat < 3; ++repeat) {
      EXPECT_GT(kernel.measure_reading(0.01), 0.0);
      EXPECT_TRUE(product_of(kernel, row, block) == expected) << reader.name;
    }
    EXPECT_EQ(kernel.figures().byte_count, 3 * kernel.streamed_byte_count());
    StreamedKernel resident(row, {}, std::make_unique<PanelFile>(panels.folder.file_path()),
                            {.resident_count = panel_count, .buffer_count = 0}, reader);
    EXPECT_EQ(resident.measure_reading(0.01), 0.0);
  }
}

TEST(StorageSampleTest, TooLargeAFileIsRefusedWithWhatIsFree) {
  const test::TemporaryFolder place;
  const NewFile file(place.path(), "large");
  const auto error = test::error_of(ExitCode::cannot_create, [&] { file.reserve(int64_t{1} << 60); });
  EXPECT_NE(error.find("it needs "), std::string::npos) << error;
}

/// Readers do not know what they read: one kernel, of half storage, has both sums.
class TroubleTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(row_.stores_half());
    write_panels(folder_, row_, block_);
  }

  /// Its requests have these faults from number `first` on.
  StreamedKernel kernel_with(int first, std::vector<FaultKind> faults) {
    test::plan_faults({.kinds = std::move(faults), .first = first});
    return {row_,
            {},
            std::make_unique<PanelFile>(folder_.file_path()),
            {.resident_count = 0, .buffer_count = 3},
            faulty_reader_};
  }

  /// What is wrong with the file.
  std::string error_of_file() const {
    return test::error_of(ExitCode::bad_data, [&] { const PanelFile file(folder_.file_path()); });
  }
  void write_again() {
    folder_.remove_file();
    write_panels(folder_, row_, block_);
  }

  const test::TemporaryFolder place_;
  const PanelFolder folder_{place_.path(), 0, 1};
  const kernels::KernelRow& row_ = *streamed_rows().back();
  const test::TestBlock block_ = tall_block();
  const PanelIoRow faulty_reader_ = test::faulty_reader();
};

TEST_F(TroubleTest, WhatDoesNotIsNamedAndLeavesNoNumber) {
  for (const auto& [fault, code, words] :
       {std::tuple(FaultKind::error, ExitCode::cannot_write, "panel 2 at byte "),
        std::tuple(FaultKind::short_count, ExitCode::bad_data, "cut off"),
        std::tuple(FaultKind::flipped_bit, ExitCode::bad_data, "found damaged data")}) {
    auto kernel = kernel_with(2, {fault, fault});
    // The product in trouble, and every later one.
    for (int repeat = 0; repeat < 2; ++repeat) EXPECT_TRUE(has_no_number(product_of(kernel, row_, block_)));
    ASSERT_TRUE(kernel.failure());
    EXPECT_EQ(kernel.failure()->code(), code);
    EXPECT_NE(std::string(kernel.failure()->what()).find(words), std::string::npos)
        << kernel.failure()->what();
    EXPECT_NE(std::string(kernel.failure()->what()).find(folder_.file_path()), std::string::npos);
  }
}

/// The second of two faults of one panel ends the run; whatever happens, no product is wrong.
TEST_F(TroubleTest, NoFaultGivesAWrongProduct) {
  const auto expected = whole_product(row_, block_);
  std::mt19937_64 random(20261124);
  int mended_count = 0;
  int ended_count = 0;
  for (int trial = 0; trial < test::by_extent(60, 1000); ++trial) {
    const auto first = static_cast<int>(random() % (3 * panel_count));
    const auto repeat_count = 1 + random() % 2;
    std::vector<FaultKind> faults;
    for (uint64_t repeat = 0; repeat < repeat_count; ++repeat)
      faults.push_back(all_faults[random() % all_faults.size()]);
    auto kernel = kernel_with(first, faults);
    for (int product = 0; product < 3; ++product) {
      const auto found = product_of(kernel, row_, block_);
      ASSERT_TRUE(kernel.failure() ? has_no_number(found) : found == expected) << "trial " << trial;
    }
    ASSERT_EQ(kernel.failure().has_value(), repeat_count > 1) << "trial " << trial;
    ++(repeat_count > 1 ? ended_count : mended_count);
    if (repeat_count == 1) continue;
    const std::string reason(kernel.failure()->what());
    ASSERT_NE(reason.find(folder_.file_path() + ": panel "), std::string::npos) << reason;
  }
  EXPECT_GT(mended_count, 0);
  EXPECT_GT(ended_count, 0);
}

TEST_F(TroubleTest, AFileThatIsCutOffUnderWay) {
  for (const auto& reader : panel_io_table()) {
    if (!reader.why_unavailable().empty()) continue;
    write_again();
    StreamedKernel kernel(row_, {}, std::make_unique<PanelFile>(folder_.file_path()),
                          {.resident_count = 0, .buffer_count = 2}, reader);
    EXPECT_TRUE(product_of(kernel, row_, block_) == whole_product(row_, block_));
    std::filesystem::resize_file(folder_.file_path(), 2 * panel_alignment);
    // Some of the panels were read before.
    product_of(kernel, row_, block_);
    ASSERT_TRUE(kernel.failure()) << reader.name;
    EXPECT_TRUE(has_no_number(product_of(kernel, row_, block_)));
  }
}

TEST_F(TroubleTest, EveryFlipOfABitIsFound) {
  std::ifstream stream(folder_.file_path(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(stream), {}};
  const PanelFile whole(folder_.file_path());
  const auto expected = whole_product(row_, block_);
  // The header's zeros and the gaps between arrays are no data: those of panels are part of checksums, those of the header not.
  const auto is_data = [&](size_t byte) { return byte < sizeof(PanelFileHeader) || byte >= panel_alignment; };
  int refused_count = 0;
  int trial_count = 0;
  for (size_t byte = 0; byte < good.size(); byte += byte < sizeof(PanelFileHeader) ? 1 : 7919) {
    if (!is_data(byte)) continue;
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ (1 << (byte % 8)));
    place_.write(folder_.file_name, bad);
    ++trial_count;
    auto file = folder_.existing(key_of(block_));
    if (!file) {
      EXPECT_NE(error_of_file(), "no error");
      ++refused_count;
      continue;
    }
    StreamedKernel kernel(row_, {}, std::move(file), {.resident_count = 0, .buffer_count = 2},
                          usual_panel_io());
    product_of(kernel, row_, block_);
    refused_count += kernel.failure() ? 1 : 0;
  }
  EXPECT_EQ(refused_count, trial_count);
}

TEST_F(TroubleTest, AnotherMatrixAndEveryLengthButTheRightOneAreRefused) {
  auto key = key_of(block_);
  EXPECT_NE(folder_.existing(key), nullptr);
  key.matrix_hash ^= 1;
  EXPECT_EQ(folder_.existing(key), nullptr);
  const auto size = std::filesystem::file_size(folder_.file_path());
  for (std::uintmax_t length = 0; length < size; length += 1 + length / 3) {
    write_again();
    std::filesystem::resize_file(folder_.file_path(), length);
    EXPECT_EQ(folder_.existing(key_of(block_)), nullptr) << length;
    EXPECT_NE(error_of_file(), "no error");
  }
}

}  // namespace
}  // namespace cg2d::streamed_kernel_test
