#pragma once

// A file of the system, open for reading, and what the formats of its content share. For the sources of bytes.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cg/matrix/files/byte_source.hpp"

namespace cg2d {

/// Owns the descriptor. Throws FileError for anything but a regular file.
class OpenFile {
 public:
  explicit OpenFile(std::string path);
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// Fills the bytes from a position on; fewer only at the end of the file. Returns how many.
  [[nodiscard]] std::size_t read_at(std::int64_t position, std::span<char> bytes) const;
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// Decompresses; each takes over the file, whose first bytes are those of its format.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<OpenFile> file);
std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<OpenFile> file);

}  // namespace cg2d
