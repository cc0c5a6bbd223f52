#include "cg/base/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

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

std::optional<std::string> text_of_file(const std::string& path) {
  constexpr size_t portion_bytes = size_t{1} << 16;
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(path, error);
  const bool is_regular = !error;
  const int64_t most_bytes = is_regular ? 1'000'000'000 : 250'000'000;
  const auto require_size = [&](size_t size) {
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
    text.resize(size + static_cast<size_t>(file.gcount()));
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

bool is_regular_file(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

/// Writes a text that cannot be written to the path to the first of the other folders of OutputFile that takes it. Returns the file's
/// name; empty: none does.
std::string kept_elsewhere(const std::string& path, std::string_view text) {
  auto temporary = environment_variable("TMPDIR");
  if (temporary.empty()) temporary = "/tmp";
  for (const auto& folder : {std::move(temporary), std::string("."), environment_variable("HOME")}) {
    if (folder.empty()) continue;  // there is no HOME
    UnnamedFile file(folder + "/" + std::filesystem::path(path).filename().string(), FileNaming::at_the_end);
    if (!file.is_open() || !write_all(file.descriptor(), text) || !put_on_device(file.descriptor())) continue;
    if (auto name = file.keep(); !name.empty()) return name;
  }
  return {};
}

/// The descriptor of this process that the path names, as shells do for >(...) and people for a log; -1: none.
int descriptor_named_by(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(folder)) return number_from<int>(path.substr(folder.size())).value_or(-1);
  return -1;
}

}  // namespace

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

OutputFile::OutputFile(std::string path, bool may_go_to_standard_output)
    : path_(std::move(path)), may_go_to_standard_output_(may_go_to_standard_output) {
  const int named = descriptor_named_by(path_);
  if (path_ == standard_output_name || named == STDOUT_FILENO) path_.clear();
  if (path_.empty()) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)  // see secure_standard_descriptors()
      throw RunError(ExitCode::cannot_write,
                     "cannot write standard output: it is closed; leave it open, or name a file by --output");
    descriptor_ = STDOUT_FILENO;
    return;
  }
  // What a descriptor leads to goes on where it is: a log is not replaced by a file of its name.
  if (std::error_code error; named >= 0 || std::filesystem::is_other(path_, error)) {
    device_ = Descriptor(named >= 0 ? fcntl(named, F_DUPFD_CLOEXEC, 0)
                                    : open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!device_.is_open()) cannot_create(path_);
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away takes no other output along
    descriptor_ = device_.number();
    return;
  }
  path_ = output_target(path_);
  struct stat status {};
  const bool is_there = lstat(path_.c_str(), &status) == 0;
  if (!is_there && errno == ENAMETOOLONG) cannot_create(path_);
  if (is_there && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    cannot_create(path_);
  }
  file_ = std::make_unique<UnnamedFile>(path_, FileNaming::at_the_end);
  const int reason = errno;
  if (file_->is_open() && can_be_replaced(path_)) {
    descriptor_ = file_->descriptor();
    keep_permissions(path_, descriptor_);
  } else if (Descriptor(open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)).is_open()) {
    file_.reset();
  } else {
    if (!file_->is_open()) errno = reason;
    cannot_create(path_);
  }
}

void keep_permissions(const std::string& target, int descriptor) {
  constexpr mode_t permissions = 0777;
  struct stat status {};
  if (lstat(target.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (geteuid() == 0) static_cast<void>(!fchown(descriptor, status.st_uid, status.st_gid));
  fchmod(descriptor, status.st_mode & permissions);
}

OutputFile::~OutputFile() = default;

void OutputFile::fail(int reason, std::string place) const {
  const bool is_kept = is_ended_ && is_all_ && (descriptor_ < 0 || is_regular_file(descriptor_));
  if (place.empty() && is_kept) place = kept_elsewhere(path_.empty() ? "cg2d-output" : path_, text_);
  if (!place.empty()) {
    place = "; the result is in " + place;
  } else if (is_kept && !path_.empty() && may_go_to_standard_output_) {
    make_way_for_output();
    if (write_all(STDOUT_FILENO, text_)) place = "; the result is on standard output";
  }
  throw RunError(ExitCode::cannot_write, "cannot write {}: {}{}", path_.empty() ? "standard output" : path_,
                 std::strerror(reason), place);
}

void OutputFile::write(std::string_view text) {
  constexpr size_t most_kept_bytes = size_t{2} << 20;
  text_ += text;
  // Nothing is lost of a target that is written in place before its successor is there as a whole.
  if (text_.size() < most_kept_bytes || descriptor_ < 0) return;
  write_out();
  text_.clear();
  is_all_ = false;
}

/// The text that is in memory; the last part goes on to the disk.
void OutputFile::write_out() {
  if (descriptor_ == STDOUT_FILENO) make_way_for_output();
  const bool is_written = write_all(descriptor_, text_) &&
                          (!is_ended_ || !is_regular_file(descriptor_) || put_on_device(descriptor_));
  if (!is_written) fail(errno);
}

void OutputFile::commit() {
  is_ended_ = true;
  if (descriptor_ >= 0) write_out();
  if (descriptor_ >= 0 && !file_) return;
  const std::lock_guard pause(end_pause());
  if (file_ && file_->take_name()) return;
  // In place, for reasons that were known before (then there is no file) or not: a mount of another kind, a file system without hard links.
  const int reason = errno;
  // Now, since the name may have come to lead elsewhere meanwhile.
  device_ = Descriptor(open(path_.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (!device_.is_open() && errno == ENOENT)
    device_ =
        Descriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, all_may_read_and_write));
  const int trouble = file_ ? reason : errno;
  if (!device_.is_open()) fail(trouble, file_ ? file_->keep() : std::string());
  descriptor_ = device_.number();
  if (is_all_) return write_out();
  struct stat whole {};
  fstat(file_->descriptor(), &whole);
  for (off_t copied = 0; copied < whole.st_size;)
    if (sendfile(descriptor_, file_->descriptor(), &copied, static_cast<size_t>(whole.st_size - copied)) <= 0)
      fail(errno, file_->keep());
  if (!put_on_device(descriptor_)) fail(errno, file_->keep());
}

void secure_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number: this one, since those below are open. Opened for what it is not used for.
    static_cast<void>(!open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void update_file(const std::string& path, const std::function<std::string()>& make) {
  // A lock on the folder leaves no file behind, and ends with the descriptor. Whoever holds it for ten seconds hangs, or is not one of these
  // programs: then, and where there are no locks (some network file systems), it goes without.
  constexpr int most_attempts = 1000;
  const Descriptor lock(open(folder_of(output_target(path)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int k = 0; k < most_attempts && flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
       ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
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

// ---------------------------------------------------------------- lines

size_t complete_lines(std::string_view text) {
  const auto last = text.rfind('\n');
  return last == std::string_view::npos ? 0 : last + 1;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

LineFile::LineFile(std::string path, std::string_view writer, bool is_fresh)
    : path_(std::move(path)), writer_(writer), text_(open(is_fresh)), written_(text_.size()) {}

std::string LineFile::open(bool is_fresh) {
  file_ = Descriptor();
  file_ = Descriptor(::open(output_target(path_).c_str(),
                            O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, all_may_read_and_write));
  struct stat status {};
  if (!file_.is_open() || fstat(file_.number(), &status) != 0) cannot_create(path_);
  // A pipe or a device cannot be resumed.
  if (!S_ISREG(status.st_mode))
    throw RunError(ExitCode::usage, "{}: it is no regular file; name another one", path_);
  // File systems without locks (some network ones) fail with another error: then the file is not locked.
  if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw RunError(ExitCode::usage, "{}: {} is writing it; wait for its end, or name another file", path_,
                   writer_);
  if (is_fresh && ftruncate(file_.number(), 0) != 0) cannot_write(path_);
  std::string text(static_cast<size_t>(lseek(file_.number(), 0, SEEK_END)), '\0');
  const auto count = read_whole(file_.number(), 0, std::as_writable_bytes(std::span(text)));
  if (!count) throw RunError(ExitCode::usage, "{}: it cannot be read ({})", path_, std::strerror(errno));
  text.resize(*count);
  return text;
}

void LineFile::drop_cut_line() {
  const auto whole = complete_lines(text_);
  if (whole == text_.size()) return;
  // Shortened in place: an atomic step of the file system that keeps the lock.
  if (ftruncate(file_.number(), static_cast<off_t>(whole)) != 0) cannot_write(path_);
  text_.resize(whole);
  written_ = whole;
}

/// Where the name does not lead to the file as it was left, that which is there now must be a beginning of the text.
void LineFile::write_rest() {
  struct stat status {};
  if (!leads_to(path_, file_.number()) || fstat(file_.number(), &status) != 0 ||
      static_cast<size_t>(status.st_size) != written_) {
    const auto found = open(false);
    if (!text_.starts_with(found))
      throw RunError(ExitCode::cannot_write, "cannot write {}: another process has changed it", path_);
    written_ = found.size();
  }
  if (!write_all(file_.number(), std::string_view(text_).substr(written_))) cannot_write(path_);
  written_ = text_.size();
}

void LineFile::append(std::string_view line) {
  (text_ += line) += '\n';
  try {
    write_rest();
  } catch (const RunError&) {
    // sync() tries again.
  }
}

void LineFile::sync() try {
  write_rest();
  if (!put_on_device(file_.number())) cannot_write(path_);
} catch (const RunError& error) {
  const auto place = kept_elsewhere(path_, text_);
  if (place.empty()) throw RunError(ExitCode::cannot_write, error.what());
  path_ = place;
  throw RunError(ExitCode::cannot_write, "{}; all lines are in {}", error.what(), place);
}

void LineFile::remove() const {
  if (leads_to(path_, file_.number())) unlink(path_.c_str());
}

// ---------------------------------------------------------------- names

namespace {

bool only_reads(FileUse use) { return use == FileUse::reads || use == FileUse::reads_first; }

bool may_share(FileUse a, FileUse b) {
  if (only_reads(a) && only_reads(b)) return true;
  if (a == FileUse::folder && b == FileUse::folder) return true;
  return std::minmax(a, b) == std::minmax(FileUse::reads_first, FileUse::writes_last);
}

}  // namespace

std::string file_identity(const std::string& path) {
  if (path.empty() || path == standard_output_name) return path;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    const bool is_other = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    return is_other ? std::string() : fmt::format("{}:{}", status.st_dev, status.st_ino);
  }
  auto target = path;
  try {
    target = output_target(path);
  } catch (const RunError&) {
    // Whoever opens the file says what is wrong with its links.
  }
  std::error_code error;
  const auto absolute = std::filesystem::weakly_canonical(std::filesystem::absolute(target), error);
  // A folder's name may end with a slash.
  return absolute.has_filename() ? absolute.string() : absolute.parent_path().string();
}

void require_files_on_disk(std::span<const FileOption> options) {
  for (const auto& [option, path, use] : options) {
    if (path != standard_output_name) continue;
    if (use == FileUse::updates) {
      throw InputError("{} -: this file is read, too, and standard output cannot be; name a file", option);
    }
    if (use == FileUse::folder || use == FileUse::fills)
      throw InputError("{} -: must be a folder, and standard output is none; name one", option);
  }
}

void require_different_files(std::span<const FileOption> options) {
  for (size_t first = 0; first < options.size(); ++first) {
    for (size_t second = first + 1; second < options.size(); ++second) {
      const auto& a = options[first];
      const auto& b = options[second];
      if (a.path.empty() || b.path.empty() || may_share(a.use, b.use)) continue;
      if (const auto identity = file_identity(a.path); identity.empty() || identity != file_identity(b.path))
        continue;
      const auto& [writer, other] = only_reads(a.use) ? std::pair(b, a) : std::pair(a, b);
      throw InputError("{} and {} name the same file, {}: give each its own", writer.option, other.option,
                       writer.path);
    }
  }
}

}  // namespace cg2d
