#pragma once

// A file that is there, open for reading, and what may be wrong with it. No MPI.

#include "cg/base/errors.hpp"
#include "cg/base/storage/whole_io.hpp"

namespace cg2d {

/// A bad input file. what() is "file: found ..., expected ...", with the number of the line
/// after the name where there is one.
class FileError : public RunError {
 public:
  FileError(const std::string& path, const std::string& message)
      : RunError(ExitCode::bad_data, path + ": " + message) {}
  FileError(const std::string& path, std::int64_t line, const std::string& message)
      : RunError(ExitCode::bad_data, path + ":" + std::to_string(line) + ": " + message) {}
};

/// Throws FileError, also for anything but a regular file.
class OpenFile {
 public:
  explicit OpenFile(std::string path);

  /// Fills the bytes from a position on; fewer only at the end of the file. Returns how many.
  [[nodiscard]] std::size_t read_at(std::int64_t position, std::span<std::byte> bytes) const;
  /// Fills them from a position on. False: the file ends before.
  template <typename T>
  [[nodiscard]] bool fill(std::int64_t position, std::span<T> values) const {
    return read_at(position, std::as_writable_bytes(values)) == values.size_bytes();
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& reason) const { throw FileError(path_, reason); }

 private:
  std::string path_;
  Descriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace cg2d
