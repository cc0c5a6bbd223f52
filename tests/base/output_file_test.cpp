// Files that are written atomically.

#include "cg/base/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::output_file_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

/// A folder of its own for each test.
class OutputFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  static void put(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.write(text);
    file.commit();
  }

  test::TemporaryFolder folder_;
};

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
  file.write("one, ");
  file.write("");
  file.write("two\n");
  file.commit();
  EXPECT_EQ(content(path("result.json")), "one, two\n");  // also while the object lives
  EXPECT_EQ(names(), std::vector<std::string>{"result.json"});
}

TEST_F(OutputFileTest, PermissionsAreThoseOfTheMaskOrOfTheFileThatIsThere) {
  struct stat status {};
  const mode_t usual_mask = umask(027);
  OutputFile(path("new.json")).commit();
  umask(usual_mask);
  ASSERT_EQ(stat(path("new.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  for (const mode_t permissions : {0600U, 0644U}) {
    std::ofstream(path("result.json")) << "the old one";
    chmod(path("result.json").c_str(), permissions);
    const mode_t mask = umask(0);
    OutputFile(path("result.json")).commit();
    umask(mask);
    ASSERT_EQ(stat(path("result.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, permissions);
  }
}

TEST_F(OutputFileTest, OwnLinksAreFollowed) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/result.json", path("link"));  // its target is not there yet
  fs::create_symlink("link", path("second_link"));
  put(path("second_link"), "text");
  EXPECT_EQ(content(path("folder/result.json")), "text");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  fs::create_symlink("loop", path("loop"));
  expect_error(ExitCode::cannot_create, path("loop"), [&] { OutputFile file(path("loop")); });
}

TEST_F(OutputFileTest, LinksOfOtherUsersAreNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make links of other users";
  std::ofstream(path("precious")) << "text";
  fs::create_symlink(path("precious"), path("link"));
  constexpr uid_t other = 65534;
  ASSERT_EQ(lchown(path("link").c_str(), other, other), 0);
  expect_error(ExitCode::cannot_create, path("link"), [&] { OutputFile file(path("link")); });
  EXPECT_EQ(content(path("precious")), "text");
  ASSERT_EQ(chown(folder_.path().c_str(), other, other), 0);  // the owner of the folder decides
  OutputFile(path("link")).commit();
  EXPECT_EQ(content(path("precious")), "");
}

/// Does this as a user who owns nothing.
template <typename Action>
void as_nobody(const Action& action) {
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(seteuid(nobody), 0);
  action();
  ASSERT_EQ(seteuid(0), 0);
}

TEST_F(OutputFileTest, AFileThatCannotBeReplacedIsWrittenInPlace) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto target = path("result.json");
  std::ofstream(target) << "a text that is longer than the new one";
  ASSERT_EQ(chmod(target.c_str(), 0666), 0);
  // Folders such as /tmp, and one that the user cannot write.
  for (const mode_t mode : {01777U, 0755U}) {
    ASSERT_EQ(chmod(folder_.path().c_str(), mode), 0);
    as_nobody([&] { EXPECT_EQ(test::message_of([&] { put(target, "new"); }), "no error"); });
    EXPECT_EQ(content(target), "new");
    EXPECT_EQ(names(), std::vector<std::string>{"result.json"});
  }
  // One whose name goes away meanwhile.
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  std::unique_ptr<OutputFile> file;
  as_nobody([&] { file = std::make_unique<OutputFile>(target); });
  file->write("newer");
  fs::remove(target);
  as_nobody([&] { file->commit(); });
  EXPECT_EQ(content(target), "newer");
  // One that can be neither replaced nor written is refused at once.
  ASSERT_EQ(chown(target.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(target.c_str(), 0644), 0);
  as_nobody([&] { expect_error(ExitCode::cannot_create, target, [&] { OutputFile refused(target); }); });
}

/// Whether this folder's file system has unlinked temporary files.
bool has_unnamed_files(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

TEST_F(OutputFileTest, AKillLeavesNothing) {
  if (!has_unnamed_files(folder_.path())) GTEST_SKIP() << "this file system has no unlinked temporary files";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    OutputFile file(path("result.json"));
    file.write(std::string(100'000, 'x'));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(OutputFileTest, OfAdditionsOfSeveralProcessesNoneIsLost) {
  constexpr int process_count = 4;
  constexpr int additions = 25;
  std::vector<pid_t> children;
  for (int k = 0; k < process_count; ++k) {
    children.push_back(fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() != 0) continue;
    for (int addition = 0; addition < additions; ++addition)
      update_file(path("log"), [&] { return text_of_file(path("log")).value_or("") + "x"; });
    _exit(0);
  }
  for (const auto child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(content(path("log")), std::string(process_count * additions, 'x'));
  EXPECT_EQ(names(), std::vector<std::string>{"log"});
}

TEST_F(OutputFileTest, WhatADescriptorLeadsToGoesOnWhereItIs) {
  std::ofstream(path("log")) << "before\n";
  const int log = open(path("log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(log, 0);
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"})
    put(folder + std::to_string(log), "in " + folder + "\n");
  close(log);
  EXPECT_EQ(content(path("log")), "before\nin /dev/fd/\nin /proc/self/fd/\n");
  testing::internal::CaptureStdout();
  put("/dev/stdout", "text\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text\n");
  const auto closed = "/dev/fd/" + std::to_string(log);
  expect_error(ExitCode::cannot_create, closed, [&] { OutputFile file(closed); });
}

TEST_F(OutputFileTest, AReaderThatGoesAwayIsAnErrorOfWriting) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  OutputFile file(path("pipe"));
  close(reader);
  file.write("text");
  expect_error(ExitCode::cannot_write, path("pipe") + ": Broken pipe", [&] { file.commit(); });
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_F(OutputFileTest, ANameThatIsTooLongIsKnownAtOnce) {
  expect_error(ExitCode::cannot_create, "File name too long",
               [&] { OutputFile(path(std::string(256, 'n'))); });
}

TEST_F(OutputFileTest, AFolderIsNoFileAndAFileNoFolder) {
  std::ofstream(path("file")) << "x";
  for (const auto& target : {path("no/such/folder/result.json"), path("file/result.json")})
    expect_error(ExitCode::cannot_create, target, [&] { OutputFile file(target); });
  fs::remove(path("file"));
  fs::create_directory(path("folder"));
  expect_error(ExitCode::cannot_create, path("folder"), [&] { OutputFile file(path("folder")); });
  expect_error(ExitCode::cannot_create, path("folder"), [&] { OutputFile file(path("folder") + "/"); });
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(names(), std::vector<std::string>{"folder"});
}

TEST_F(OutputFileTest, AFolderThatTakesTheNameMeanwhileCannotBeWritten) {
  {
    OutputFile file(path("result.json"));
    file.write("text");
    fs::create_directory(path("result.json"));
    expect_error(ExitCode::cannot_write, "the result is in " + path("result.json."), [&] { file.commit(); });
  }
  const auto kept = "result.json." + std::to_string(getpid()) + "-0";  // the error names it
  EXPECT_EQ(names(), (std::vector<std::string>{"result.json", kept}));
  EXPECT_EQ(content(path(kept)), "text");
}

TEST_F(OutputFileTest, ATextThatHasNoOtherPlaceIsOnStandardOutput) {
  fs::create_directory(path("folder"));
  OutputFile file(path("folder/result.json"));
  file.write("text\n");
  fs::remove_all(path("folder"));
  testing::internal::CaptureStdout();
  const auto here = fs::current_path();
  const char* const home = getenv("HOME");
  const std::string former_home = home == nullptr ? "" : home;
  fs::current_path("/proc");  // where nobody can make a file
  for (const auto* const name : {"TMPDIR", "HOME"}) ASSERT_EQ(setenv(name, "/proc", 1), 0);
  expect_error(ExitCode::cannot_write, "; the result is on standard output", [&] { file.commit(); });
  fs::current_path(here);
  unsetenv("TMPDIR");
  setenv("HOME", former_home.c_str(), 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text\n");
}

TEST_F(OutputFileTest, ATemporaryNameThatIsGoneIsNotNamed) {
  UnnamedFile file(path("result.json"), FileNaming::temporary_at_once);
  ASSERT_TRUE(file.is_open());
  fs::remove(file.temporary_name());
  EXPECT_EQ(file.keep(), "");
}

TEST_F(OutputFileTest, ATextHasABoundAndNoByteOrderMark) {
  std::ofstream(path("marked")) << "\xef\xbb\xbftext\xef\xbb\xbf";
  EXPECT_EQ(text_of_file(path("marked")), "text\xef\xbb\xbf");
  std::ofstream(path("huge")) << "x";
  fs::resize_file(path("huge"), 1'000'000'001);
  expect_error(ExitCode::usage, "it has more than 1 GB", [&] { text_of_file(path("huge")); });
  expect_error(ExitCode::usage, "it has more than 250 MB", [&] { text_of_file("/dev/zero"); });
}

TEST_F(OutputFileTest, LinesGoElsewhereWhereTheirFileIsAnothersAndThatStays) {
  LineFile file(path("lines"), "another test", false);
  file.append("one");
  fs::rename(path("lines"), path("mine"));
  std::ofstream(path("lines")) << "somebody's\n";
  file.append("two");
  ASSERT_EQ(setenv("TMPDIR", folder_.path().c_str(), 1), 0);
  const auto kept = path("lines.") + std::to_string(getpid()) + "-0";
  expect_error(ExitCode::cannot_write, "another process has changed it; all lines are in " + kept,
               [&] { file.sync(); });
  file.append("three");
  file.sync();
  unsetenv("TMPDIR");
  EXPECT_EQ(content(kept), "one\ntwo\nthree\n");
  EXPECT_EQ(content(path("lines")), "somebody's\n");
  fs::remove(kept);
  fs::rename(path("lines"), kept);
  file.remove();
  EXPECT_EQ(content(kept), "somebody's\n");
}

}  // namespace
}  // namespace cg2d::output_file_test
