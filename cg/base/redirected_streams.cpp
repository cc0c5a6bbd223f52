#include "cg/base/redirected_streams.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>

#include "cg/base/output_file.hpp"

namespace cg2d {
namespace {

constexpr std::array own_streams{STDOUT_FILENO, STDERR_FILENO};

/// The object that keeps the process's own streams; none where they are not redirected.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): descriptors belong to the process
std::atomic<const RedirectedStreams*> outermost = nullptr;

void flush_streams() {
  std::cout.flush();
  std::fflush(nullptr);
}

}  // namespace

MemoryFile::MemoryFile() : file_(memfd_create("text", MFD_CLOEXEC)) {
  if (!file_.is_open()) cannot_create("a file in memory");
}

std::string MemoryFile::text() const {
  const auto size = lseek(descriptor(), 0, SEEK_END);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  if (!read_whole(descriptor(), 0, std::as_writable_bytes(std::span(text)))) cannot_write("a file in memory");
  return text;
}

RedirectedStreams::RedirectedStreams(int output, int errors) {
  flush_streams();
  for (size_t k = 0; k < own_streams.size(); ++k)
    kept_.at(k) = fcntl(own_streams.at(k), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept_[0] < 0 || kept_[1] < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    cannot_create("a copy of standard output");
  if (outermost == nullptr) outermost = this;
}

RedirectedStreams::~RedirectedStreams() {
  if (outermost == this) outermost = nullptr;
  lead_back();
  for (const int kept : kept_) close(kept);
}

void RedirectedStreams::lead_back() const noexcept {
  flush_streams();
  for (size_t k = 0; k < own_streams.size(); ++k) dup2(kept_.at(k), own_streams.at(k));
}

void RedirectedStreams::undo() noexcept {
  if (const auto* const streams = outermost.load()) streams->lead_back();
}

}  // namespace cg2d
