// A library to be loaded before the C library (LD_PRELOAD), which makes calls on files fail as a device, or a system that writes its cache
// back later, makes them fail. For tests of the program as it is; see tests/program/file_faults_test.py.
//
//     CG2D_FAULT         CALL KIND NUMBER    the call of this number (from 0 on, of those that match) fails in this way
//                        CALL KIND NUMBER+   and all after it, as on a full device
//     CG2D_FAULT_FOLDER  files of others are left alone
//     CG2D_FAULT_RANK    the rank whose calls fail (by PMI_RANK, without one it is 0)
//     CG2D_FAULT_LOG     a file that gets a line for each fault
//
//     CALL    KIND
//     write   error, full   EIO, ENOSPC
//             drop          success is reported, and nothing written
//             zeros         zeros are written: the file has the length, and not the data, as after a failed write-back
//             flip          one bit is changed
//             short         half of it is written, and that is told
//             later         as zeros, and the next sync of this file fails with EIO, once
//     sync    error         EIO, once, and the data are there
//             lose          a page of the file becomes zeros, and success is reported
//             fail          a page of the file becomes zeros, and EIO is reported
//     read    error         EIO
//             flip          one bit of what is read is changed
//     any     none          no fault: the log tells how many calls match
//     close   cut           the file is cut off before: where it is mapped, the next access is a SIGBUS
//
// write: write, pwrite. sync: fsync, fdatasync, sync_file_range. read: read, pread. io_uring is refused, since it goes past the
// C library.
//
//     CG2D_REFUSED       a service of the system that every rank is refused, as by a kernel, a container or a file system without it
//
//     SERVICE
//     io_uring           the ring cannot be set up: ENOSYS
//     io_uring-requests  the ring is set up, and every request fails: EINVAL
//     io_uring-whole     of every request that is longer than a page, half is met
//     direct-open        open with O_DIRECT: EINVAL
//     direct-transfer    reading and writing a file that is open so: EINVAL
//     huge-pages         madvise: EINVAL (where UCX, below MPICH, does not take it for itself: UCX_MEM_EVENTS=n)
//     flock              ENOLCK
//     fsync              fsync, fdatasync: EOPNOTSUPP
//     sync-range         sync_file_range: ENOSYS
//     rename             EPERM
//     links              linkat: EPERM
//     unnamed            open with O_TMPFILE: EOPNOTSUPP
//     allocate           fallocate: EOPNOTSUPP
//     affinity           sched_setaffinity: EPERM
//     perf-events        perf_event_open: EACCES
//     memory-files       memfd_create: ENOSYS
//     instruction        fsync has an instruction that the processor lacks

#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace {

constexpr size_t page_bytes = 4096;
constexpr int first_file = 3;  // those before it are the standard ones

/// The function of this name that the program would have called.
template <typename Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Plan {
  std::string call;
  std::string kind;
  long number = -1;
  bool goes_on = false;
  std::string folder = variable("CG2D_FAULT_FOLDER");
  std::string log = variable("CG2D_FAULT_LOG");

  Plan() {
    const auto text = variable("CG2D_FAULT");
    std::array<char, 16> call_name{};
    std::array<char, 16> kind_name{};
    char more = ' ';
    if (std::sscanf(text.c_str(), "%15s %15s %ld%c", call_name.data(), kind_name.data(), &number, &more) < 3)
      return;
    const auto rank = variable("PMI_RANK");
    const auto wanted = variable("CG2D_FAULT_RANK");
    if ((rank.empty() ? "0" : rank) != (wanted.empty() ? "0" : wanted)) return;
    call = call_name.data();
    kind = kind_name.data();
    goes_on = more == '+';
  }
};

const Plan& plan() {
  static const Plan the_plan;
  return the_plan;
}

std::atomic<long> call_count{0};
std::atomic<unsigned long> failing_file{0};  // its inode: its next sync fails

bool is_refused(std::string_view service) {
  static const auto refused = variable("CG2D_REFUSED");
  return refused == service;
}

/// Whether a file is open for transfers past the system's cache, and these are refused.
bool refuses_transfer(int descriptor) {
  if (!is_refused("direct-transfer")) return false;
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

unsigned long inode_of(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

bool is_watched(int descriptor) {
  if (descriptor < first_file || plan().folder.empty()) return false;
  const auto link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 4096> path{};
  const auto size = readlink(link.c_str(), path.data(), path.size());
  return size > 0 && std::string_view(path.data(), static_cast<size_t>(size)).starts_with(plan().folder);
}

/// The kind of fault of this call; empty: none.
std::string_view fault_of(std::string_view call, int descriptor) {
  const auto& the_plan = plan();
  if (the_plan.call != call || !is_watched(descriptor)) return {};
  const long number = call_count++;
  if (number != the_plan.number && !(the_plan.goes_on && number > the_plan.number)) return {};
  if (!the_plan.log.empty()) {
    static const auto real_write = next_of<ssize_t(int, const void*, size_t)>("write");
    const int log = open(the_plan.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    static_cast<void>(!real_write(log, "fault\n", 6));
    close(log);
  }
  if (the_plan.kind == "none") return {};
  return the_plan.kind;
}

struct Free {
  void operator()(char* bytes) const { std::free(bytes); }
};

/// Zeros that a file may take past the cache of the system, too.
std::unique_ptr<char, Free> aligned_zeros(size_t size) {
  const size_t whole_pages = (size / page_bytes + 1) * page_bytes;
  std::unique_ptr<char, Free> bytes(static_cast<char*>(std::aligned_alloc(page_bytes, whole_pages)));
  std::memset(bytes.get(), 0, size);
  return bytes;
}

ssize_t failed_with(int error) {
  errno = error;
  return -1;
}

/// Writes in place of the program: put(bytes) is the real call with other bytes, `size` of them.
template <typename Put>
ssize_t write_with_fault(int descriptor, const void* bytes, size_t& size, const Put& put) {
  if (refuses_transfer(descriptor)) return failed_with(EINVAL);
  const auto kind = fault_of("write", descriptor);
  if (kind.empty() || size == 0) return put(bytes);
  if (kind == "error") return failed_with(EIO);
  if (kind == "full") return failed_with(ENOSPC);
  if (kind == "drop") return static_cast<ssize_t>(size);
  if (kind == "short") {
    size = (size + 1) / 2;
    return put(bytes);
  }
  const auto changed = aligned_zeros(size);
  if (kind == "flip") {
    std::memcpy(changed.get(), bytes, size);
    changed.get()[size / 2] ^= 1;
  }
  if (kind == "later") failing_file = inode_of(descriptor);
  return put(changed.get());
}

/// The end of a call that puts data on the disk.
template <typename Sync>
int sync_with_fault(int descriptor, off_t begin, off_t size, const Sync& sync) {
  if (failing_file != 0 && failing_file == inode_of(descriptor)) {
    failing_file = 0;
    return static_cast<int>(failed_with(EIO));
  }
  const auto kind = fault_of("sync", descriptor);
  if (kind.empty()) return sync();
  struct stat status {};
  if (kind != "error" && fstat(descriptor, &status) == 0) {
    const auto end = size > 0 ? std::min(begin + size, status.st_size) : status.st_size;
    const auto pages = std::max<off_t>((end - begin) / static_cast<off_t>(page_bytes), 1);
    const auto position = begin + (plan().number * 7 + 3) % pages * static_cast<off_t>(page_bytes);
    const auto count = std::min<off_t>(static_cast<off_t>(page_bytes), end - position);
    const auto zeros = aligned_zeros(page_bytes);
    static const auto real = next_of<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    if (count > 0) static_cast<void>(!real(descriptor, zeros.get(), static_cast<size_t>(count), position));
  }
  return kind == "lose" ? 0 : static_cast<int>(failed_with(EIO));
}

template <typename Get>
ssize_t read_with_fault(int descriptor, void* bytes, const Get& get) {
  if (refuses_transfer(descriptor)) return failed_with(EINVAL);
  const auto kind = fault_of("read", descriptor);
  if (kind == "error") return failed_with(EIO);
  const auto count = get();
  if (kind == "flip" && count > 0) static_cast<char*>(bytes)[count / 2] ^= 1;
  return count;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = next_of<ssize_t(int, const void*, size_t)>("write");
  return write_with_fault(descriptor, bytes, size,
                          [&](const void* put) { return real(descriptor, put, size); });
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t position) {
  static const auto real = next_of<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return write_with_fault(descriptor, bytes, size,
                          [&](const void* put) { return real(descriptor, put, size, position); });
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t position) {
  return pwrite(descriptor, bytes, size, position);
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  static const auto real = next_of<ssize_t(int, void*, size_t)>("read");
  return read_with_fault(descriptor, bytes, [&] { return real(descriptor, bytes, size); });
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t position) {
  static const auto real = next_of<ssize_t(int, void*, size_t, off_t)>("pread");
  return read_with_fault(descriptor, bytes, [&] { return real(descriptor, bytes, size, position); });
}
ssize_t pread64(int descriptor, void* bytes, size_t size, off_t position) {
  return pread(descriptor, bytes, size, position);
}

int fsync(int descriptor) {
  static const auto real = next_of<int(int)>("fsync");
  if (is_refused("instruction")) __builtin_trap();
  if (is_refused("fsync")) return static_cast<int>(failed_with(EOPNOTSUPP));
  return sync_with_fault(descriptor, 0, 0, [&] { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static const auto real = next_of<int(int)>("fdatasync");
  if (is_refused("fsync")) return static_cast<int>(failed_with(EOPNOTSUPP));
  return sync_with_fault(descriptor, 0, 0, [&] { return real(descriptor); });
}
int sync_file_range(int descriptor, off_t begin, off_t size, unsigned flags) {
  static const auto real = next_of<int(int, off_t, off_t, unsigned)>("sync_file_range");
  if (is_refused("sync-range")) return static_cast<int>(failed_with(ENOSYS));
  return sync_with_fault(descriptor, begin, size, [&] { return real(descriptor, begin, size, flags); });
}

int close(int descriptor) {
  static const auto real = next_of<int(int)>("close");
  if (plan().call == "close" && fault_of("close", descriptor) == "cut")
    static_cast<void>(!ftruncate(descriptor, 0));
  return real(descriptor);
}

int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  static const auto real = next_of<int(unsigned, io_uring*, unsigned)>("io_uring_queue_init");
  if (is_refused("io_uring") || !plan().folder.empty() || real == nullptr) return -ENOSYS;
  return real(entries, ring, flags);
}
int io_uring_submit(io_uring* ring) {
  static const auto real = next_of<int(io_uring*)>("io_uring_submit");
  const auto refuses = is_refused("io_uring-requests") || is_refused("direct-transfer");
  for (auto k = ring->sq.sqe_head; k != ring->sq.sqe_tail; ++k) {
    auto& request = ring->sq.sqes[k & *ring->sq.kring_mask];
    if (refuses) request.opcode = 255;  // no kernel has this operation
    if (is_refused("io_uring-whole") && request.len > page_bytes)
      request.len = static_cast<unsigned>((request.len / 2 + page_bytes - 1) / page_bytes * page_bytes);
  }
  return real(ring);
}

int open(const char* path, int flags, ...) {
  static const auto real = next_of<int(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (is_refused("direct-open") && (flags & O_DIRECT) != 0) return static_cast<int>(failed_with(EINVAL));
  if (is_refused("unnamed") && (flags & O_TMPFILE) == O_TMPFILE)
    return static_cast<int>(failed_with(EOPNOTSUPP));
  return real(path, flags, mode);
}

int madvise(void* address, size_t size, int advice) noexcept {
  static const auto real = next_of<int(void*, size_t, int)>("madvise");
  return is_refused("huge-pages") ? static_cast<int>(failed_with(EINVAL)) : real(address, size, advice);
}
int flock(int descriptor, int operation) noexcept {
  static const auto real = next_of<int(int, int)>("flock");
  return is_refused("flock") ? static_cast<int>(failed_with(ENOLCK)) : real(descriptor, operation);
}
int rename(const char* from, const char* to) noexcept {
  static const auto real = next_of<int(const char*, const char*)>("rename");
  return is_refused("rename") ? static_cast<int>(failed_with(EPERM)) : real(from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  static const auto real = next_of<int(int, const char*, int, const char*, int)>("linkat");
  return is_refused("links") ? static_cast<int>(failed_with(EPERM))
                             : real(from_folder, from, to_folder, to, flags);
}
int fallocate(int descriptor, int mode, off_t position, off_t size) {
  static const auto real = next_of<int(int, int, off_t, off_t)>("fallocate");
  return is_refused("allocate") ? static_cast<int>(failed_with(EOPNOTSUPP))
                                : real(descriptor, mode, position, size);
}
int sched_setaffinity(pid_t process, size_t size, const cpu_set_t* set) noexcept {
  static const auto real = next_of<int(pid_t, size_t, const cpu_set_t*)>("sched_setaffinity");
  return is_refused("affinity") ? static_cast<int>(failed_with(EPERM)) : real(process, size, set);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  static const auto real = next_of<int(const char*, unsigned)>("memfd_create");
  return is_refused("memory-files") ? static_cast<int>(failed_with(ENOSYS)) : real(name, flags);
}
long syscall(long number, ...) noexcept {
  static const auto real = next_of<long(long, ...)>("syscall");
  if (number == SYS_perf_event_open && is_refused("perf-events")) return failed_with(EACCES);
  std::array<long, 6> words{};
  va_list more;
  va_start(more, number);
  for (auto& word : words) word = va_arg(more, long);
  va_end(more);
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
