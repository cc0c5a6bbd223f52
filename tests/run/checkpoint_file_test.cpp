// One file of a checkpoint: written and read again, and every damage to it.

#include "cg/run/checkpoint/checkpoint_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::checkpoint_file_test {
namespace {

constexpr CheckpointName name{.generation = 7, .rank = 1, .rank_count = 3};
const std::string state = "{\"number\": 15}";
const std::vector<double> first_vector{1.0, 2.0, 3.0, 4.0};
const std::vector<double> second_vector{-1.0, -2.0, -3.0, -4.0};

CheckpointHeader header_of_the_file() {
  CheckpointHeader header;
  header.kind = CheckpointKind::solve;
  header.matrix_hash = 42;
  header.order = 20;
  header.step = 5;
  header.range = {.begin = 10, .end = 14};
  return header;
}

void write_file(const test::TemporaryFolder& folder) {
  write_checkpoint_file(
      folder.path(), name,
      {.header = header_of_the_file(), .text = state, .vectors = {first_vector, second_vector}});
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The reason why a file with these bytes is refused; empty: it is taken.
std::string reason_against(const test::TemporaryFolder& folder, const std::string& bytes) {
  folder.write(name.text(), bytes);
  const auto error = test::error_of(ExitCode::bad_data, [&] {
    const CheckpointReader reader(folder.path(name.text()), name);
    reader.read({}, {});
    static_cast<void>(reader.state());
  });
  return error == "no error" ? "" : error;
}

TEST(CheckpointFile, ReturnsWhatWasWritten) {
  const test::TemporaryFolder folder;
  write_file(folder);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing beside the file";
  const CheckpointReader reader(folder.path(name.text()), name);
  EXPECT_EQ(reader.header().kind, CheckpointKind::solve);
  EXPECT_EQ(reader.header().step, 5);
  EXPECT_EQ(reader.header().matrix_hash, 42U);
  EXPECT_EQ(reader.state(), state);
  // Elements 12 ... 16 are wanted; the file has the first two of them.
  std::vector<double> first(5, 9.0);
  std::vector<double> second(5, 9.0);
  const std::array targets{std::span<double>(first), std::span<double>(second)};
  reader.read({12, 17}, targets);
  EXPECT_EQ(first, (std::vector{3.0, 4.0, 9.0, 9.0, 9.0}));
  EXPECT_EQ(second, (std::vector{-3.0, -4.0, 9.0, 9.0, 9.0}));
}

TEST(CheckpointFile, ReadsVectorsThatAreLongerThanItsBuffer) {
  const test::TemporaryFolder folder;
  std::vector<double> vector(200'001);
  for (size_t k = 0; k < vector.size(); ++k) vector[k] = std::sqrt(static_cast<double>(k));
  auto header = header_of_the_file();
  header.order = std::ssize(vector);
  header.range = {.begin = 0, .end = header.order};
  write_checkpoint_file(folder.path(), name, {.header = header, .text = state, .vectors = {vector}});
  const CheckpointReader reader(folder.path(name.text()), name);
  std::vector<double> middle(100'000);
  const std::array targets{std::span<double>(middle)};
  reader.read({65'000, 165'000}, targets);
  EXPECT_TRUE(std::equal(middle.begin(), middle.end(), vector.begin() + 65'000));
}

TEST(CheckpointFile, RefusesEveryTruncationWithItsReason) {
  const test::TemporaryFolder folder;
  write_file(folder);
  const auto bytes = bytes_of_file(folder.path(name.text()));
  ASSERT_EQ(bytes.size(), sizeof(CheckpointHeader) + state.size() + 8 * (2 * 4));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto reason = reason_against(folder, bytes.substr(0, size));
    EXPECT_NE(reason.find("found " + std::to_string(size) + " bytes, expected"), std::string::npos)
        << size << ": " << reason;
  }
  EXPECT_NE(reason_against(folder, bytes + '\0').find("bytes, expected"), std::string::npos)
      << "one byte more";
  EXPECT_EQ(reason_against(folder, bytes), "");
}

TEST(CheckpointFile, RefusesEveryFlippedBitWithItsReason) {
  const test::TemporaryFolder folder;
  write_file(folder);
  const auto bytes = bytes_of_file(folder.path(name.text()));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const auto reason = reason_against(folder, changed);
    const auto begin = folder.path(name.text()) + ": found ";
    EXPECT_EQ(reason.substr(0, begin.size()), begin) << "bit " << bit << ": " << reason;
    EXPECT_NE(reason.find(", expected "), std::string::npos) << "bit " << bit << ": " << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos);
  }
}

TEST(CheckpointFile, RefusesAFileUnderAnothersNameAndReplacesNone) {
  const test::TemporaryFolder folder;
  write_file(folder);
  const auto before = bytes_of_file(folder.path(name.text()));
  EXPECT_NE(test::error_of(ExitCode::cannot_write, [&] { write_file(folder); }), "no error");
  EXPECT_EQ(bytes_of_file(folder.path(name.text())), before);
  constexpr CheckpointName other{.generation = 8, .rank = 1, .rank_count = 3};
  std::filesystem::rename(folder.path(name.text()), folder.path(other.text()));
  const auto error = test::error_of(ExitCode::bad_data,
                                    [&] { const CheckpointReader reader(folder.path(other.text()), other); });
  EXPECT_NE(error.find("the content of " + name.text()), std::string::npos) << error;
}

TEST(CheckpointFile, ARehearsalLeavesNothing) {
  const test::TemporaryFolder folder;
  write_checkpoint_file(folder.path(), name, {.header = header_of_the_file(), .text = state}, false);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THROW(write_checkpoint_file(folder.path("missing"), name, {}, false), RunError);
}

TEST(CheckpointName, IsReadAsItIsWritten) {
  EXPECT_EQ(name.text(), "00000007.1-of-3.checkpoint");
  EXPECT_EQ(checkpoint_name_from(name.text()), name);
  constexpr CheckpointName late{.generation = 1'234'567'890, .rank = 10, .rank_count = 11};
  EXPECT_EQ(checkpoint_name_from(late.text()), late);
  for (const std::string other :
       {"", "x", "7.1-of-3.checkpoint", "00000007.3-of-3.checkpoint", "00000007.-1-of-3.checkpoint",
        "00000007.1-of-3.checkpoints", "00000000.0-of-1.checkpoint", "00000007.01-of-3.checkpoint",
        "-of-.checkpoint", "00000007.1-of-.checkpoint", ".12-00000007.1-of-3.checkpoint",
        "00000007.1-of-99999999999.checkpoint", "-of-00000007.1.checkpoint"}) {
    EXPECT_FALSE(checkpoint_name_from(other)) << other;
  }
}

// sqrt(2 x 0.5 x 100) = 10, by hand; and the share of time that saving takes is sqrt(cost / (2 x failures)).
TEST(CheckpointInterval, IsYoungs) {
  EXPECT_DOUBLE_EQ(young_interval_s(0.5, 100.0), 10.0);
  EXPECT_NEAR(young_interval_s(0.034), 76.65, 0.01) << "a day between failures";
}

}  // namespace
}  // namespace cg2d::checkpoint_file_test
