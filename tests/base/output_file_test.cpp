// Files that are written whole or not at all.

#include "cg/base/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string pattern = testing::TempDir() + "cg2d_output_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  OutputFileTest(const OutputFileTest&) = delete;
  OutputFileTest& operator=(const OutputFileTest&) = delete;
  OutputFileTest(OutputFileTest&&) = delete;
  OutputFileTest& operator=(OutputFileTest&&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

/// The exit code of the RunError that the action throws, and whether its text names the path.
template <typename Action>
std::optional<ExitCode> error_of(const Action& action, const std::string& named) {
  try {
    action();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    return error.code();
  }
  return std::nullopt;
}

TEST_F(OutputFileTest, IsThereAfterCommitAndNothingElseIs) {
  {
    OutputFile file(path("result.json"));
    file.write("one, ");
    file.write("");
    file.write("two\n");
    file.commit();
  }
  EXPECT_EQ(content(path("result.json")), "one, two\n");
  EXPECT_EQ(names(), std::vector<std::string>{"result.json"});
}

TEST_F(OutputFileTest, AnEmptyFileIsAFile) {
  OutputFile(path("empty")).commit();
  EXPECT_EQ(names(), std::vector<std::string>{"empty"});
  EXPECT_EQ(content(path("empty")), "");
}

TEST_F(OutputFileTest, WithoutCommitNothingRemains) {
  {
    OutputFile file(path("result.json"));
    file.write("half of it");
  }
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(OutputFileTest, UntilCommitAnExistingFileIsUntouched) {
  std::ofstream(path("result.json")) << "the old one";
  {
    OutputFile file(path("result.json"));
    file.write("half of the new one");
    EXPECT_EQ(content(path("result.json")), "the old one");
  }
  EXPECT_EQ(content(path("result.json")), "the old one");
  EXPECT_EQ(names(), std::vector<std::string>{"result.json"});
  OutputFile file(path("result.json"));
  file.write("new");
  file.commit();
  EXPECT_EQ(content(path("result.json")), "new");  // also while the object lives
}

TEST_F(OutputFileTest, ManyParts) {
  const std::string part(100'003, 'x');
  OutputFile file(path("large"));
  for (int k = 0; k < 50; ++k) file.write(part);
  file.commit();
  EXPECT_EQ(fs::file_size(path("large")), 50U * part.size());
}

TEST_F(OutputFileTest, IsReadableForWhomTheMaskSays) {
  const mode_t mask = umask(027);
  OutputFile(path("result.json")).commit();
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat(path("result.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(OutputFileTest, AMissingFolderCannotBeCreatedIn) {
  const auto target = path("no/such/folder/result.json");
  EXPECT_EQ(error_of([&] { OutputFile file(target); }, target), ExitCode::cannot_create);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(OutputFileTest, AFileIsNoFolder) {
  std::ofstream(path("file")) << "x";
  const auto target = path("file/result.json");
  EXPECT_EQ(error_of([&] { OutputFile file(target); }, target), ExitCode::cannot_create);
}

TEST_F(OutputFileTest, AFolderIsNoFile) {
  fs::create_directory(path("folder"));
  EXPECT_EQ(error_of([&] { OutputFile file(path("folder")); }, path("folder")), ExitCode::cannot_create);
  EXPECT_EQ(error_of([&] { OutputFile file(path("folder") + "/"); }, path("folder")),
            ExitCode::cannot_create);
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(names(), std::vector<std::string>{"folder"});
}

TEST_F(OutputFileTest, AFolderThatTakesTheNameMeanwhileCannotBeWritten) {
  {
    OutputFile file(path("result.json"));
    file.write("text");
    fs::create_directory(path("result.json"));
    EXPECT_EQ(error_of([&] { file.commit(); }, path("result.json")), ExitCode::cannot_write);
  }
  EXPECT_EQ(names(), std::vector<std::string>{"result.json"});  // the folder; no temporary file
}

TEST_F(OutputFileTest, AFullDiskCannotBeWritten) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  {
    OutputFile file("/dev/full");  // a device: written directly
    const auto code = error_of(
        [&] {
          file.write("a few bytes, which the C library keeps until commit");
          file.commit();
        },
        "/dev/full");
    EXPECT_EQ(code, ExitCode::cannot_write);
  }
  OutputFile file("/dev/full");
  EXPECT_EQ(error_of([&] { file.write(std::string(1 << 20, 'x')); }, "/dev/full"), ExitCode::cannot_write);
}

TEST(RenderedTest, OnlyUnknownFailuresBecomeDefects) {
  EXPECT_EQ(rendered([] { return std::string("text"); }), "text");
  EXPECT_THROW(rendered([]() -> std::string { throw std::bad_alloc(); }), std::bad_alloc);
  const auto code_of = [](const auto& make) {
    try {
      rendered(make);
    } catch (const RunError& error) {
      return error.code();
    }
    return ExitCode::success;
  };
  EXPECT_EQ(code_of([]() -> std::string { throw InputError("as it was"); }), ExitCode::usage);
  EXPECT_EQ(code_of([]() -> std::string { throw std::out_of_range("defect"); }), ExitCode::internal);
}

TEST_F(OutputFileTest, DevicesStayDevices) {
  OutputFile file("/dev/null");
  file.write("text");
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, WithoutAPathItIsStandardOutput) {
  testing::internal::CaptureStdout();
  {
    OutputFile file("");
    file.write("to standard ");
    file.write("output\n");
    file.commit();
  }
  OutputFile("").commit();  // still open
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "to standard output\n");
}

}  // namespace
}  // namespace cg2d
