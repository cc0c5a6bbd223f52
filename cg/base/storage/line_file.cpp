#include "cg/base/storage/line_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"

namespace cg2d {

std::size_t complete_lines(std::string_view text) {
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

LineFile::LineFile(std::string path, std::string_view writer) : path_(std::move(path)) {
  descriptor_ =
      ::open(output_target(path_).c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) close(descriptor_);
    errno = reason;
    cannot_create(path_);
  }
  const auto refuse = [&](const std::string& reason) {
    close(descriptor_);
    throw InputError(reason);
  };
  // A pipe or a device cannot be resumed.
  if (!S_ISREG(status.st_mode)) refuse("it is no regular file");
  // File systems without locks (some network ones) fail with another error: then the file is not locked.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse(fmt::format("{} is writing it", writer));
}

LineFile::~LineFile() { close(descriptor_); }

void LineFile::clear() {
  if (ftruncate(descriptor_, 0) != 0) cannot_write(path_);
}

std::string LineFile::text() const { return text_of_file(path_).value_or(""); }

bool LineFile::drop_cut_line(std::string_view text) {
  const auto whole = complete_lines(text);
  if (whole == text.size()) return false;
  // Shortened in place: an atomic step of the file system that keeps the lock.
  if (ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) cannot_write(path_);
  return true;
}

void LineFile::append(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LineFile::sync() {
  if (fsync(descriptor_) != 0) cannot_write(path_);
}

}  // namespace cg2d
