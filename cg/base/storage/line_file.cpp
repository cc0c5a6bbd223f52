#include "cg/base/storage/line_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cg/base/output_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {

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

}  // namespace cg2d
