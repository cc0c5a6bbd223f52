#include "cg/base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "cg/base/progress.hpp"

namespace cg2d {

void cannot_create(const std::string& path) {
  const int error = errno;
  const bool is_folders =
      error == EACCES || error == EPERM || error == EROFS || error == ENOENT || error == ENOTDIR;
  throw RunError(ExitCode::cannot_create,
                 fmt::format("cannot create {}: {}{}", path, std::strerror(error),
                             is_folders        ? "; name a file in a folder that can be written"
                             : error == EISDIR ? "; name a file"
                                               : ""));
}

void cannot_write(const std::string& path) {
  throw RunError(ExitCode::cannot_write, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

namespace {

bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// The first name beside the path that `take` takes: true, or false and errno EEXIST for a name that is in use.
/// Empty when it fails otherwise.
template <typename Take>
std::string name_beside(const std::string& path, const Take& take) {
  constexpr int most_names = 10'000;
  for (int k = 0; k < most_names; ++k) {
    auto name = fmt::format("{}.{}-{}", path, getpid(), k);
    if (take(name)) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

/// Keeps SIGINT and SIGTERM waiting during its life.
class SignalPause {
 public:
  SignalPause() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &earlier_);
  }
  ~SignalPause() { pthread_sigmask(SIG_SETMASK, &earlier_, nullptr); }
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;

 private:
  sigset_t earlier_{};
};

/// A lock on the folder of a file, which leaves no file behind. Whoever holds it for ten seconds hangs, or is
/// not one of these programs: then, and where there are no locks (some network file systems), it goes without.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    constexpr int most_attempts = 1000;
    for (int k = 0; k < most_attempts; ++k) {
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
      std::this_thread::sleep_for(10ms);
    }
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

bool are_same_file(const std::string& a, const std::string& b) {
  if (is_special(a) || is_special(b)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;  // hard links
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(output_target(path)), error);
  };
  return place(a) == place(b);
}

}  // namespace

std::optional<std::string> text_of_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  // An empty file is a text, too; copying nothing would count as a failure.
  if (file && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) return std::string();
  if (file) text << file.rdbuf();
  if (file && text) return text.str();
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw InputError(fmt::format("it cannot be read ({})", std::strerror(errno)));
}

std::optional<std::string> default_profile_path() {
  const auto folder_in = [](const char* variable) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  // A relative path in XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
  if (const auto cache = folder_in("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/cg2d/profile.json";
  if (const auto home = folder_in("HOME"); !home.empty()) return home + "/.cache/cg2d/profile.json";
  return std::nullopt;
}

std::string output_target(const std::string& path) {
  constexpr int most_links = 40;  // as the kernel follows
  std::filesystem::path target = path;
  struct stat link {};
  for (int k = 0; lstat(target.c_str(), &link) == 0 && S_ISLNK(link.st_mode); ++k) {
    if (k == most_links) {
      errno = ELOOP;
      cannot_create(path);
    }
    struct stat folder {};
    const bool is_its_owners =
        stat(folder_of(target.string()).c_str(), &folder) == 0 && folder.st_uid == link.st_uid;
    if (link.st_uid != geteuid() && link.st_uid != 0 && !is_its_owners) {
      throw RunError(ExitCode::cannot_create,
                     fmt::format("cannot create {}: {} is a link of another user; name a file of your own",
                                 path, target.string()));
    }
    std::error_code error;
    const auto next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) {
    file_ = stdout;
    return;
  }
  const auto target = output_target(path_);
  if (is_special(path_)) {
    file_ = std::fopen(path_.c_str(), "w");
    if (file_ == nullptr) cannot_create(path_);
    return;
  }
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    cannot_create(path_);
  }
  path_ = target;
  open_beside();
}

/// The mask of the user holds for new files.
void OutputFile::open_beside() {
  constexpr mode_t all_may_read_and_write = 0666;
  int descriptor = -1;
  // Naming a file without a name needs /proc, see open(2).
  if (access("/proc/self/fd", X_OK) == 0)
    descriptor = open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, all_may_read_and_write);
  if (descriptor < 0) {
    temporary_path_ = name_beside(path_, [&](const std::string& name) {
      descriptor =
          open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, all_may_read_and_write);
      return descriptor >= 0;
    });
  }
  if (descriptor < 0) cannot_create(path_);
  file_ = fdopen(descriptor, "w");
  is_in_place_ = false;
  keep_permissions(path_, fileno(file_));
}

void keep_permissions(const std::string& target, int descriptor) {
  constexpr mode_t permissions = 0777;
  struct stat status {};
  if (lstat(target.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (geteuid() == 0) static_cast<void>(!fchown(descriptor, status.st_uid, status.st_gid));
  fchmod(descriptor, status.st_mode & permissions);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void OutputFile::fail() const { cannot_write(path_.empty() ? "standard output" : path_); }

void OutputFile::write(std::string_view text) {
  if (file_ == stdout) make_way_for_output();
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
}

void OutputFile::commit() {
  if (std::fflush(file_) != 0) fail();
  if (file_ == stdout) output_is_written();
  if (is_in_place_) return;
  if (fsync(fileno(file_)) != 0) fail();
  const SignalPause pause;
  put_in_place();
}

/// A new file gets its name in one step. One that replaces another needs a second name for a moment.
void OutputFile::put_in_place() {
  const auto source = fmt::format("/proc/self/fd/{}", fileno(file_));
  const auto link_to = [&](const std::string& name) {
    return linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  is_in_place_ = temporary_path_.empty() && link_to(path_);
  if (is_in_place_) return;
  if (temporary_path_.empty() && errno == EEXIST) temporary_path_ = name_beside(path_, link_to);
  if (temporary_path_.empty() || rename(temporary_path_.c_str(), path_.c_str()) != 0) fail();
  temporary_path_.clear();
  is_in_place_ = true;
}

void update_file(const std::string& path, const std::function<std::string()>& make) {
  const FolderLock lock(folder_of(output_target(path)));
  OutputFile file(path);
  file.write(rendered(make));
  file.commit();
}

void require_different_files(std::span<const FileOption> options) {
  for (std::size_t first = 0; first < options.size(); ++first) {
    for (std::size_t second = first + 1; second < options.size(); ++second) {
      const auto& [option, path] = options[first];
      const auto& [other_option, other_path] = options[second];
      if (path.empty() || other_path.empty() || !are_same_file(path, other_path)) continue;
      throw InputError(
          fmt::format("{} and {} name the same file, {}: give each its own", option, other_option, path));
    }
  }
}

}  // namespace cg2d
