#include "cg/base/storage/unnamed_file.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

namespace {

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

/// "result.json" of its temporary name "result.json.1234-0"; empty for a name that is none.
std::string name_without_temporary_end(const std::string& name) {
  const auto point = name.rfind('.');
  const auto dash = name.rfind('-');
  if (point == std::string::npos || dash == std::string::npos || dash < point) return {};
  const bool is_end =
      number_from<int>(name.substr(point + 1, dash - point - 1)) && number_from<int>(name.substr(dash + 1));
  return is_end ? name.substr(0, point) : std::string();
}

int64_t position_of(size_t chunk) { return static_cast<int64_t>(chunk * ScratchChunks::chunk_bytes); }

}  // namespace

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Throws RunError (cannot_create) with the folder and errno.
[[noreturn]] void cannot_create_in(const std::string& folder) {
  throw RunError(ExitCode::cannot_create, "cannot create a file in the folder {}: {}", folder,
                 std::strerror(errno));
}

bool leads_to(const std::string& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

UnnamedFile::UnnamedFile(std::string path, FileNaming naming, int flags) : path_(std::move(path)) {
  open_as(naming, flags);
  if (!is_open() && errno == EINVAL && flags != 0) open_as(naming, 0);
  if (is_open() && naming == FileNaming::never) path_ = folder_of(path_);
}

void UnnamedFile::open_as(FileNaming naming, int flags) {
  constexpr mode_t owner_may_read_and_write = 0600;
  const bool is_never_named = naming == FileNaming::never;
  if (naming == FileNaming::of_another_process) {
    file_ = Descriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC | flags));
    return;
  }
  const mode_t mode = is_never_named ? owner_may_read_and_write : all_may_read_and_write;
  // Naming an unlinked temporary file needs /proc, see open(2).
  if (is_never_named || (naming == FileNaming::at_the_end && access("/proc/self/fd", X_OK) == 0)) {
    file_ = Descriptor(open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, mode));
    if (is_open() || (is_never_named && errno != EOPNOTSUPP && errno != EISDIR)) return;
  }
  name_ = name_beside(path_, [&](const std::string& name) {
    file_ = Descriptor(open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC | flags, mode));
    if (!is_open() && errno == EINVAL) {  // refused for its flags, after it was made
      unlink(name.c_str());
      errno = EINVAL;
    }
    return is_open();
  });
  if (is_never_named && is_open()) unlink(std::exchange(name_, {}).c_str());
}

UnnamedFile::~UnnamedFile() {
  if (!name_.empty()) unlink(name_.c_str());
}

void UnnamedFile::write_at(int64_t position, std::span<const std::byte> bytes) const {
  if (!write_whole(descriptor(), position, bytes)) cannot_write(path_);
}

void UnnamedFile::put_on_disk() const {
  if (!put_on_device(descriptor())) cannot_write(path_);
}

bool UnnamedFile::link_to(const std::string& name) const {
  const auto source = fmt::format("/proc/self/fd/{}", descriptor());
  return linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool UnnamedFile::take_name(ExistingFile existing) {
  if (!name_.empty() || !link_to(path_)) {
    if (name_.empty() && errno == EEXIST && existing == ExistingFile::is_replaced)
      name_ = name_beside(path_, [this](const auto& name) { return link_to(name); });
    if (name_.empty() || rename(name_.c_str(), path_.c_str()) != 0) return false;
    name_.clear();
  }
  const auto folder = folder_of(path_);
  const Descriptor names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names.is_open() && !put_on_device(names.number())) cannot_write(folder);
  return true;
}

std::string UnnamedFile::keep() {
  if (name_.empty() || !leads_to(name_, descriptor()))
    name_ = name_beside(path_, [this](const auto& name) { return link_to(name); });
  return std::exchange(name_, {});
}

NewFile::NewFile(const std::string& folder, const std::string& name)
    : UnnamedFile(folder + "/" + name, FileNaming::at_the_end) {
  if (!is_open()) cannot_create(path());
}

void NewFile::append(std::span<const std::byte> bytes) {
  write_at(size_, bytes);
  size_ += std::ssize(bytes);
}

void NewFile::reserve(int64_t byte_count) const {
  if (fallocate(descriptor(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(byte_count)) == 0) return;
  const int error = errno;
  const auto free_bytes = folder_room(folder_of(path())).available_bytes;
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (!is_full && byte_count <= free_bytes) return;
  throw RunError(ExitCode::cannot_create,
                 "cannot create {}: it needs {}, and its file system has {} left for it{}", path(),
                 format_bytes(byte_count), format_bytes(free_bytes),
                 is_full ? fmt::format(" ({})", std::strerror(error)) : std::string());
}

void NewFile::end_at(int64_t byte_count) const {
  if (ftruncate(descriptor(), static_cast<off_t>(byte_count)) != 0) cannot_write(path());
}

void NewFile::take_name() {
  if (!UnnamedFile::take_name(ExistingFile::is_kept)) cannot_write(path());
}

void remove_unfinished_files(const std::string& folder,
                             const std::function<bool(std::string_view name)>& is_mine) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = name_without_temporary_end(entry->path().filename().string());
    if (!name.empty() && is_mine(name)) unlink(entry->path().c_str());
  }
}

ScratchFile::ScratchFile(const std::string& folder, FileCaching caching, int64_t byte_count)
    : UnnamedFile(folder + "/.cg2d-scratch", FileNaming::never,
                  caching == FileCaching::direct ? O_DIRECT : 0) {
  if (!is_open()) cannot_create_in(folder);
  if (byte_count > 0) take_room({.begin = 0, .end = byte_count});
}

void ScratchFile::take_room(const comm::IndexRange& bytes) const {
  if (fallocate(descriptor(), 0, static_cast<off_t>(bytes.begin), static_cast<off_t>(bytes.size())) == 0)
    return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  throw RunError(ExitCode::cannot_create, "not enough room in the folder {} for a file of {}: {}", path(),
                 format_bytes(bytes.end), std::strerror(error));
}

bool ScratchFile::is_direct() const { return (fcntl(descriptor(), F_GETFL) & O_DIRECT) != 0; }

size_t ScratchChunks::add() {
  constexpr size_t chunks_at_once = 512;  // 32 MiB
  if (checksums_.size() == chunks_with_room_) {
    file_.take_room(
        {.begin = position_of(chunks_with_room_), .end = position_of(chunks_with_room_ + chunks_at_once)});
    chunks_with_room_ += chunks_at_once;
  }
  checksums_.push_back(0);
  return checksums_.size() - 1;
}

void ScratchChunks::put(size_t chunk, std::span<const std::byte> bytes) {
  known_.clear();
  checksums_[chunk] = crc32c(bytes);
  if (!write_whole(file_.descriptor(), position_of(chunk), bytes)) fail("written", chunk, errno);
  // Writing to the device begins now, so that pages are clean when the system wants them back. Systems that cannot do so lose nothing.
  const int outcome = sync_file_range(file_.descriptor(), position_of(chunk),
                                      static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);
  if (outcome != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) fail("written", chunk, errno);
}

void ScratchChunks::get(size_t chunk, std::span<std::byte> bytes) const {
  const auto count = read_whole(file_.descriptor(), position_of(chunk), bytes);
  if (!count) fail("read", chunk, errno);
  if (*count == bytes.size() && crc32c(bytes) == checksums_[chunk]) return;
  // The system tells of a failed write-back once, to those that ask.
  if (!put_on_device(file_.descriptor())) fail("written", chunk, errno);
  throw RunError(ExitCode::bad_data,
                 "the unlinked temporary file in the folder {}: found damaged data at byte {}, expected what "
                 "was written there: its device loses data",
                 file_.path(), position_of(chunk));
}

std::span<const std::byte> ScratchChunks::look_at(size_t chunk) {
  constexpr size_t most_known = 64;
  known_.resize(most_known);
  auto& known = known_[chunk % most_known];
  if (known.chunk != chunk) {
    known.chunk.reset();
    known.bytes.resize(chunk_bytes);
    get(chunk, known.bytes);
    known.chunk = chunk;
  }
  return known.bytes;
}

void ScratchChunks::fail(std::string_view what, size_t chunk, int error) const {
  throw RunError(ExitCode::cannot_write,
                 "the unlinked temporary file in the folder {} cannot be {} at byte {}: {}", file_.path(),
                 what, position_of(chunk), std::strerror(error));
}

// ---------------------------------------------------------------- folders

std::vector<std::string> folders_from(std::string_view option, const std::string& text) {
  if (text.empty()) return {};
  auto folders = split_at(text, ',');
  if (std::ranges::count(folders, "") > 0)
    throw InputError("{} {}: must be folders on local storage, such as /scratch1,/scratch2", option, text);
  return folders;
}

FolderRoom folder_room(const std::string& folder) {
  struct stat facts {};
  struct statvfs room {};
  if (stat(folder.c_str(), &facts) != 0 || statvfs(folder.c_str(), &room) != 0) cannot_create_in(folder);
  return {
      .device = static_cast<uint64_t>(facts.st_dev),
      .available_bytes = saturated(static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize))};
}

void require_room(std::string_view option, const std::string& folder, int64_t byte_count, int node,
                  comm::RankGroup& group) {
  struct Share {
    int node = 0;
    int64_t byte_count = 0;
    FolderRoom room{};
  };
  Share mine{.node = node, .byte_count = byte_count};
  agree_on(group, [&] { mine.room = folder_room(folder); });
  int64_t sum = 0;
  for (const auto& share : group.gather_one(mine)) {
    if (share.node == mine.node && share.room.device == mine.room.device)
      sum = saturated_sum(sum, share.byte_count);
  }
  agree_on(group, [&] {
    if (sum <= mine.room.available_bytes) return;
    throw RunError(ExitCode::cannot_create,
                   "{} {}: not enough room: {} are needed on its device, {} are available", option, folder,
                   format_bytes(sum), format_bytes(mine.room.available_bytes));
  });
}

FolderClaim::FolderClaim(std::string_view option, const std::string& folder, const std::string& lock_name)
    : option_(option), folder_(folder), lock_path_(folder + "/" + lock_name) {
  std::error_code error;  // none where the folder is there
  std::filesystem::create_directory(folder, error);
  if (error)
    throw RunError(ExitCode::cannot_create,
                   "cannot create the folder {}: {}; name one for {} in a folder that can be written", folder,
                   error.message(), option);
  while (!takes_lock()) {
  }
  // For people: what cannot be written is not missed.
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const auto text = fmt::format("process {} on {} since {:%Y-%m-%dT%H:%M:%SZ}\n", getpid(), host.data(),
                                fmt::gmtime(std::time(nullptr)));
  static_cast<void>(ftruncate(file_.number(), 0) == 0 &&
                    pwrite(file_.number(), text.data(), text.size(), 0) > 0 &&
                    put_on_device(file_.number()));  // other nodes see it then
}

/// False: another run has removed the file that was locked. Then there is a new one, or none.
bool FolderClaim::takes_lock() {
  file_ =
      Descriptor(open(lock_path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, all_may_read_and_write));
  if (!file_.is_open()) cannot_create(lock_path_);
  is_locked_ = flock(file_.number(), LOCK_EX | LOCK_NB) == 0;
  if (is_locked_) return leads_to(lock_path_, file_.number());
  if (errno != EWOULDBLOCK) return true;  // no locks here
  // "process 71 on node3 since 2026-11-25T12:00:00Z"; the file may not tell (yet).
  std::array<char, 512> text{};
  const bool is_told = pread(file_.number(), text.data(), text.size() - 1, 0) > 0;
  const std::string_view all = is_told ? text.data() : "it";
  throw RunError(
      ExitCode::folder_in_use,
      "{} {}: another run uses this folder ({} has locked {}); name another one, or wait for its end",
      option_, folder_, all.substr(0, all.find('\n')), lock_path_);
}

std::string FolderClaim::warning() const {
  if (is_locked_) return {};
  return fmt::format("{} {}: its file system has no locks, so nothing keeps another run out of it", option_,
                     folder_);
}

/// The name goes first: see takes_lock(). It may be that of another run, where the folder was removed meanwhile.
FolderClaim::~FolderClaim() {
  if (leads_to(lock_path_, file_.number())) unlink(lock_path_.c_str());
}

}  // namespace cg2d
