// The store of a rank's rows: entries in the orders in which files and messages bring them. No MPI.

#include "cg/matrix/files/entry_store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "support/error_of.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::entry_store_test {
namespace {

double value_of(int64_t row, int64_t column) { return static_cast<double>(row * 1000 + column % 997); }

int64_t entry_count_of(const EntryStore& store) {
  int64_t count = 0;
  store.for_each_part([&](const RowPart& part) { count += std::ssize(part.columns); });
  return count;
}

/// Expects the given number of entries in rising order, each with its value.
void expect_ordered(const EntryStore& store, int64_t entry_count) {
  int64_t count = 0;
  int64_t faults = 0;
  for (size_t bucket = 0; bucket < store.bucket_count(); ++bucket) {
    int64_t row_before = -1;
    int64_t column_before = -1;
    store.for_each_part(bucket, [&](const RowPart& part) {
      if (part.row != row_before) column_before = -1;
      faults += part.row < row_before ? 1 : 0;
      row_before = part.row;
      for (size_t k = 0; k < part.columns.size(); ++k, ++count) {
        faults += part.columns[k] <= column_before ? 1 : 0;
        faults += part.values[k] != value_of(part.row, part.columns[k]) ? 1 : 0;
        column_before = part.columns[k];
      }
    });
  }
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(count, entry_count);
}

TEST(EntryStoreTest, RowsAreInOrderWhateverTheOriginsOfTheirEntries) {
  for (const int rank_count : {1, 2, 5, 40}) {
    EntryStore store(RowShares(int64_t{1000} * rank_count, rank_count), rank_count - 1);
    for (int k = 0; k < 100; ++k) {
      const int32_t column = k * 37 % 100;
      for (auto row = store.rows().begin; row < store.rows().end; ++row)
        store.add(row, column, value_of(row, column), store.origin_of(k % rank_count));
    }
    store.seal();
    expect_ordered(store, 100 * store.rows().size());
  }
}

constexpr int64_t jumping_order = 200'000;
constexpr int64_t jumping_entry_count = 4'000'000;

/// 56 MB, whose rows jump from bucket to bucket.
void add_jumping_entries(EntryStore& store) {
  for (int64_t k = 0; k < jumping_entry_count; ++k) {
    const auto row = k * 77'777 % jumping_order;
    const auto column = static_cast<int32_t>((jumping_entry_count - k) / jumping_order);
    store.add(row, column, value_of(row, column));
  }
}

TEST(EntryStoreTest, BucketsThatAreDroppedLeaveTheMemory) {
  EntryStore store(RowShares(jumping_order, 1), 0);
  add_jumping_entries(store);
  store.seal();
  const auto bytes_before = resident_bytes();
  const auto half = store.bucket_count() / 2;
  for (size_t bucket = 0; bucket < half; ++bucket) store.drop(bucket);
  constexpr int64_t bytes_of_half = jumping_entry_count / 2 * stored_entry_bytes;
  EXPECT_LT(resident_bytes(), bytes_before - bytes_of_half * 9 / 10);
  EXPECT_EQ(store.value_at(jumping_order - 1, 0), value_of(jumping_order - 1, 0));
}

TEST(EntryStoreTest, EntriesOnADeviceTakeLittleMemory) {
  if (test::has_address_sanitizer) GTEST_SKIP() << "the sanitizer keeps what is freed";
  const test::TemporaryFolder folder;
  const RowShares shares(jumping_order, 1);
  const auto bytes_before = resident_bytes();
  EntryStore store(shares, 0, std::make_unique<ScratchChunks>(folder.path()));
  add_jumping_entries(store);
  const auto bytes_while_open = resident_bytes();
  store.seal();
  expect_ordered(store, jumping_entry_count);
  EXPECT_EQ(store.value_at(77'777, 19), value_of(77'777, 19));
  constexpr int64_t room = 8'000'000;  // bytes of the bucket that is put in order, and of the allocator
  EXPECT_LT(bytes_while_open, bytes_before + EntryStore::open_bytes(shares) + room);
  EXPECT_LT(resident_bytes(), bytes_before + EntryStore::open_bytes(shares) + room);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// The descriptor of the unlinked temporary file in a folder.
int scratch_descriptor(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto file = std::filesystem::read_symlink(entry.path(), error).string();
    if (file.starts_with(folder.string() + "/")) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(EntryStoreTest, AnyPageThatTheDeviceLosesIsNoticed) {
  constexpr off_t page = 4096;
  for (const bool is_sealed : {false, true}) {
    for (int k = 0; k < 4; ++k) {
      const test::TemporaryFolder folder;
      EntryStore store(RowShares(jumping_order, 1), 0, std::make_unique<ScratchChunks>(folder.path()));
      add_jumping_entries(store);
      if (is_sealed) store.seal();
      const int descriptor = scratch_descriptor(folder.path());
      ASSERT_GE(descriptor, 0);
      // Within what has been written: a chunk of each bucket has been full by now.
      const std::vector<char> zeros(page);
      ASSERT_EQ(pwrite(descriptor, zeros.data(), zeros.size(), k * 9 * page), page);
      const auto error = test::error_of(ExitCode::bad_data, [&] {
        if (!is_sealed) store.seal();
        EXPECT_EQ(entry_count_of(store), jumping_entry_count);
      });
      EXPECT_NE(error, "no error") << "page " << k << ", " << is_sealed;
    }
  }
}

}  // namespace
}  // namespace cg2d::entry_store_test
