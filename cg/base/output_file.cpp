#include "cg/base/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

void cannot_create(const std::string& path) {
  const int error = errno;
  const bool is_folders =
      error == EACCES || error == EPERM || error == EROFS || error == ENOENT || error == ENOTDIR;
  throw RunError(ExitCode::cannot_create, "cannot create {}: {}{}", path, std::strerror(error),
                 is_folders        ? "; name a file in a folder that can be written"
                 : error == EISDIR ? "; name a file"
                                   : "");
}

void cannot_write(const std::string& path) {
  throw RunError(ExitCode::cannot_write, "cannot write {}: {}", path, std::strerror(errno));
}

namespace {

/// A lock on the folder of a file, which leaves no file behind and ends with the descriptor. Whoever holds it for ten seconds hangs, or is
/// not one of these programs: then, and where there are no locks (some network file systems), it goes without.
Descriptor locked_folder(const std::string& folder) {
  using namespace std::chrono_literals;
  constexpr int most_attempts = 1000;
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int k = 0; k < most_attempts; ++k) {
    if (flock(lock.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    std::this_thread::sleep_for(10ms);
  }
  return lock;
}

}  // namespace

std::optional<std::string> text_of_file(const std::string& path) {
  constexpr std::size_t portion_bytes = std::size_t{1} << 16;
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(path, error);
  const bool is_regular = !error;
  const std::int64_t most_bytes = is_regular ? 1'000'000'000 : 250'000'000;
  const auto require_size = [&](std::size_t size) {
    if (std::cmp_greater(size, most_bytes)) throw InputError("it has more than {}", format_bytes(most_bytes));
  };
  if (is_regular) require_size(file_bytes);
  errno = 0;
  std::ifstream file(path);
  std::string text;
  while (file) {
    const auto size = text.size();
    text.resize(size + portion_bytes);
    file.read(text.data() + size, portion_bytes);
    text.resize(size + static_cast<std::size_t>(file.gcount()));
    require_size(text.size());
  }
  if (file.eof() && !file.bad()) {
    text.erase(0, text.size() - without_byte_order_mark(text).size());
    return text;
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw InputError("it cannot be read ({})", std::strerror(errno));
}

std::string text_of_named_file(const std::string& name, const std::string& path) {
  try {
    if (auto text = text_of_file(path)) return std::move(*text);
    throw InputError("no such file");
  } catch (const InputError& error) {
    throw InputError("{}: {}", name, error.what());
  }
}

std::optional<std::string> default_profile_path() {
  // A relative path in XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification).
  if (const auto cache = environment_variable("XDG_CACHE_HOME"); cache.starts_with('/'))
    return cache + "/cg2d/profile.json";
  if (const auto home = environment_variable("HOME"); !home.empty())
    return home + "/.cache/cg2d/profile.json";
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
                     "cannot create {}: {} is a link of another user; name a file of your own", path,
                     target.string());
    }
    std::error_code error;
    const auto next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

// ---------------------------------------------------------------- one file

namespace {

/// False: errno says why not.
bool write_all(int descriptor, std::string_view text) {
  constexpr int forever = -1;
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EAGAIN) {  // a pipe that a launcher has made non-blocking
      pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&wanted, 1, forever);
    } else if (count < 0 && errno != EINTR) {
      return false;
    } else if (count == 0) {
      errno = ENOSPC;
      return false;
    } else if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  return true;
}

/// Folders for results that cannot be written where they were asked for.
std::vector<std::string> refuges() {
  auto temporary = environment_variable("TMPDIR");
  if (temporary.empty()) temporary = "/tmp";
  std::vector<std::string> folders{std::move(temporary), "."};
  if (auto home = environment_variable("HOME"); !home.empty()) folders.push_back(std::move(home));
  return folders;
}

}  // namespace

/// An UnnamedFile that takes a text block by block, and knows of each block what it was to be; the last one it has in memory.
class OutputFile::Spool {
 public:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  Spool() = default;  // holds the last block only, whose writing fails
  /// Not is_open(): errno says why not.
  explicit Spool(std::string path) : file_(std::move(path), FileNaming::at_the_end) {}

  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  [[nodiscard]] int descriptor() const { return file_.descriptor(); }

  /// False: the block is in memory, and errno says why not in the file.
  bool append(std::string block) {
    last_ = std::move(block);
    blocks_.push_back({.size = last_.size(), .hash = std::hash<std::string_view>{}(last_)});
    const auto position = std::exchange(size_, size_ + std::ssize(last_));
    return file_.write_at(position, std::as_bytes(std::span(last_)));
  }
  /// On the disk, and read back from there. False: errno.
  bool is_intact() {
    if (!file_.put_on_disk()) return false;
    file_.forget_cached();
    return for_each_block(blocks_.size(), [](const std::string&) { return true; });
  }
  /// False: errno.
  template <typename Take>
  bool copy(const Take& take) {
    return blocks_.empty() || (for_each_block(blocks_.size() - 1, take) && take(last_));
  }

  /// False: errno.
  bool take_name() { return file_.take_name(ExistingFile::is_replaced); }
  /// Leaves it under a name of its own, which it returns; empty: errno.
  std::string keep() { return file_.keep(); }

 private:
  struct Block {
    std::size_t size = 0;
    std::size_t hash = 0;
  };

  /// The first blocks, as the file has them.
  template <typename Take>
  bool for_each_block(std::size_t count, const Take& take) {
    std::int64_t position = 0;
    std::string text;
    for (std::size_t k = 0; k < count; ++k) {
      text.assign(blocks_[k].size, '\0');
      if (!file_.read_at(position, std::as_writable_bytes(std::span(text)))) return false;
      if (std::hash<std::string_view>{}(text) != blocks_[k].hash) {
        errno = EIO;
        return false;
      }
      if (!take(text)) return false;
      position += std::ssize(text);
    }
    return true;
  }

  UnnamedFile file_;
  std::int64_t size_ = 0;
  std::vector<Block> blocks_;
  std::string last_;
};

bool can_be_replaced(const std::string& path) {
  struct stat status {};
  struct stat folder {};
  if (lstat(path.c_str(), &status) != 0 || stat(folder_of(path).c_str(), &folder) != 0) return true;
  const auto user = geteuid();
  const bool is_kept =
      (folder.st_mode & S_ISVTX) != 0 && user != 0 && user != status.st_uid && user != folder.st_uid;
  bool is_mounted = folder.st_dev != status.st_dev;
#if defined(STATX_ATTR_MOUNT_ROOT)
  struct statx more {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &more) == 0)
    is_mounted |= (more.stx_attributes & more.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
#endif
  return !is_kept && !is_mounted;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == standard_output_name) path_.clear();
  if (path_.empty()) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)  // see secure_standard_descriptors()
      throw RunError(ExitCode::cannot_write,
                     "cannot write standard output: it is closed; leave it open, or name a file by --output");
    direct_ = STDOUT_FILENO;
    return;
  }
  const auto target = output_target(path_);
  if (std::error_code error; std::filesystem::is_other(path_, error)) {
    device_ =
        Descriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, all_may_read_and_write));
    if (!device_.is_open()) cannot_create(path_);
    direct_ = device_.number();
    return;
  }
  path_ = target;
  open_target();
}

void OutputFile::open_target() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    cannot_create(path_);
  }
  spool_ = std::make_unique<Spool>(path_);
  const int reason = errno;
  if (spool_->is_open() && can_be_replaced(path_)) {
    keep_permissions(path_, spool_->descriptor());
    return;
  }
  if (!Descriptor(open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)).is_open()) {
    if (!spool_->is_open()) errno = reason;
    cannot_create(path_);
  }
  is_overwritten_ = true;
  for (const auto& folder : refuges()) {
    if (spool_->is_open()) break;
    spool_ = std::make_unique<Spool>(folder + "/" + std::filesystem::path(path_).filename().string());
  }
  if (!spool_->is_open()) cannot_create(path_);
}

void keep_permissions(const std::string& target, int descriptor) {
  constexpr mode_t permissions = 0777;
  struct stat status {};
  if (lstat(target.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (geteuid() == 0) static_cast<void>(!fchown(descriptor, status.st_uid, status.st_gid));
  fchmod(descriptor, status.st_mode & permissions);
}

OutputFile::~OutputFile() = default;

void OutputFile::fail(int reason, const std::string& place) const {
  throw RunError(ExitCode::cannot_write, "cannot write {}: {}{}", path_.empty() ? "standard output" : path_,
                 std::strerror(reason), place.empty() ? "" : "; the result is in " + place);
}

void OutputFile::write(std::string_view text) {
  block_ += text;
  if (block_.size() >= Spool::block_bytes) write_block();
}

void OutputFile::write_block() {
  if (direct_ >= 0) return write_directly();
  if (!spool_->append(std::exchange(block_, {}))) move_elsewhere(errno);
}

/// A result that was to go to a file by way of standard output is kept as well, where it is still whole.
void OutputFile::write_directly() {
  if (direct_ == STDOUT_FILENO) make_way_for_output();
  struct stat status {};
  const bool is_file = fstat(direct_, &status) == 0 && S_ISREG(status.st_mode);
  if (write_all(direct_, block_) && (!is_file || put_on_device(direct_))) {
    block_.clear();
    is_whole_ = false;
    return;
  }
  const int reason = errno;
  if (!is_file || !is_whole_) fail(reason);
  spool_ = std::make_unique<Spool>();
  spool_->append(std::move(block_));
  move_elsewhere(reason);
  leave_elsewhere();
}

/// To the next folder that takes all of it; throws where none does.
void OutputFile::move_elsewhere(int reason) {
  if (trouble_ == 0) trouble_ = reason;
  const auto folders = refuges();
  const auto file_name = path_.empty() ? "cg2d-output" : std::filesystem::path(path_).filename().string();
  while (refuge_count_ < folders.size()) {
    auto other = std::make_unique<Spool>(folders[refuge_count_++] + "/" + file_name);
    if (!other->is_open() || !spool_->copy([&](const std::string& block) { return other->append(block); }))
      continue;
    spool_ = std::move(other);
    return;
  }
  fail(trouble_);
}

void OutputFile::commit() {
  write_block();
  if (direct_ == STDOUT_FILENO) output_is_written();
  if (direct_ >= 0) return;
  while (!spool_->is_intact()) move_elsewhere(errno);
  const EndPause pause;
  if (trouble_ == 0 && put_in_place()) return;
  if (trouble_ == 0) trouble_ = errno;
  leave_elsewhere();
}

void OutputFile::leave_elsewhere() {
  while (true) {
    const auto name = spool_->is_intact() ? spool_->keep() : std::string();
    if (!name.empty()) fail(trouble_, name);
    move_elsewhere(errno);
  }
}

/// False: errno says why not.
bool OutputFile::put_in_place() {
  if (!is_overwritten_ && spool_->take_name()) return true;
  // Else not known before: a mount of another kind, a file system without hard links. Opened now, since the name may have come to
  // lead elsewhere meanwhile.
  const int reason = errno;
  Descriptor target(open(path_.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (!target.is_open() && errno == ENOENT)
    target = Descriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, all_may_read_and_write));
  if (!target.is_open()) {
    if (!is_overwritten_) errno = reason;
    return false;
  }
  return spool_->copy([&](const std::string& block) { return write_all(target.number(), block); }) &&
         put_on_device(target.number());
}

std::string kept_elsewhere(const std::string& path, std::string_view text) {
  for (const auto& folder : refuges()) {
    UnnamedFile file(folder + "/" + std::filesystem::path(path).filename().string(), FileNaming::at_the_end);
    if (!file.is_open() || !file.write_at(0, std::as_bytes(std::span(text))) || !file.put_on_disk()) continue;
    if (auto name = file.keep(); !name.empty()) return name;
  }
  return {};
}

void secure_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number: this one, since those below are open. Opened for what it is not used for.
    static_cast<void>(!open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void update_file(const std::string& path, const std::function<std::string()>& make) {
  const auto lock = locked_folder(folder_of(output_target(path)));
  OutputFile file(path);
  file.write(rendered(make));
  file.commit();
}

void write_each(comm::RankGroup& group, std::initializer_list<std::function<void()>> steps) {
  std::optional<RunError> first;
  for (const auto& step : steps) {
    try {
      step();
    } catch (const RunError& error) {
      if (first && group.rank() == 0) say_on_stderr(error.what());
      if (!first) first = error;
    }
  }
  if (first) throw RunError(*first);
}

}  // namespace cg2d
