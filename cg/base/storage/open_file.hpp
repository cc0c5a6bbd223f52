#pragma once

// Open files: their descriptors, writing and reading of all that is given, which one call of the system need not do, files that are there,
// with what may be wrong with them, and the begin of a file of numbers: its format, and a checksum of all that the header says. No MPI.
//
// A header is a trivially copyable struct as it is in the file: its first member is `FileMark mark`, the last one `uint32_t checksum`, and the
// members between them say what follows. `Header::format` describes the format.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/storage/crc32c.hpp"

namespace cg2d {

/// Owns an open descriptor, or none. Closing it leaves errno alone.
class Descriptor {
 public:
  /// number: as open(2) returns it; below 0: none.
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

/// Writes all of the text where the descriptor is: a file, a pipe or a device. False: errno says why not.
bool write_all(int descriptor, std::string_view text);
/// Writes all of the bytes from a position of the file on. False: not all could be written, and errno says why.
bool write_whole(int descriptor, int64_t position, std::span<const std::byte> bytes);
/// Fills the bytes from a position of the file on. Returns how many it had: fewer only at its end. Empty: errno says why.
std::optional<size_t> read_whole(int descriptor, int64_t position, std::span<std::byte> bytes);

/// Puts the content of a file, or the names in a folder, on the device. True where its file system cannot do so on request (some network, shared
/// and user-space ones), which then does it in its own time. False: errno says why not.
bool put_on_device(int descriptor);

/// A bad input file. what() is "file: found ..., expected ...", with the number of the line
/// after the name where there is one.
class FileError : public RunError {
 public:
  FileError(const std::string& path, const std::string& message)
      : RunError(ExitCode::bad_data, path + ": " + message) {}
  FileError(const std::string& path, int64_t line, const std::string& message)
      : RunError(ExitCode::bad_data, path + ":" + std::to_string(line) + ": " + message) {}
  /// The message, after path or path and line, as fmt makes it.
  template <typename... Values>
  FileError(const std::string& path, fmt::format_string<Values...> message, Values&&... values)
      : FileError(path, fmt::format(message, std::forward<Values>(values)...)) {}
  template <typename... Values>
  FileError(const std::string& path, int64_t line, fmt::format_string<Values...> message, Values&&... values)
      : FileError(path, line, fmt::format(message, std::forward<Values>(values)...)) {}
};

/// Throws FileError, also for anything but a regular file.
class OpenFile {
 public:
  explicit OpenFile(std::string path);

  /// Fills the bytes from a position on; fewer only at the end of the file. Returns how many.
  size_t read_at(int64_t position, std::span<std::byte> bytes) const;
  /// Fills them from a position on. False: the file ends before.
  template <typename T>
  bool fill(int64_t position, std::span<T> values) const {
    return read_at(position, std::as_writable_bytes(values)) == values.size_bytes();
  }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& reason) const { throw FileError(path_, reason); }
  template <typename... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> reason, Values&&... values) const {
    throw FileError(path_, reason, std::forward<Values>(values)...);
  }

 private:
  std::string path_;
  Descriptor file_;
  int64_t size_ = 0;
};

/// The first 16 bytes. Numbers are in the order of bytes of the machine that wrote the file; byte_order tells a machine of another order to
/// refuse it.
struct FileMark {
  std::array<char, 8> magic{};
  uint32_t version = 1;
  uint32_t byte_order = 0x01020304;

  friend bool operator==(const FileMark&, const FileMark&) = default;
};

/// A format of files. A change of it changes the version.
struct FileFormat {
  FileMark mark;
  std::string_view content;   ///< for messages, such as "a checkpoint"
  std::string_view remedy{};  ///< for a file of another version: "; make it anew by ..."
};

/// The bytes that a header's checksum is of.
template <typename Header>
std::span<const std::byte> checksummed_bytes(const Header& header) {
  static_assert(std::is_trivially_copyable_v<Header> && offsetof(Header, mark) == 0 &&
                offsetof(Header, checksum) + sizeof(header.checksum) == sizeof(Header));
  return std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum));
}

/// Completes a header by its checksum. Returns its bytes.
template <typename Header>
std::span<const std::byte> sealed(Header& header) {
  header.checksum = crc32c(checksummed_bytes(header));
  return std::as_bytes(std::span(&header, 1));
}

/// Throws FileError for a file of another format, version or order of bytes. header_bytes: of the whole header.
void require_mark(const OpenFile& file, size_t header_bytes, const FileFormat& format);

/// Whether a file begins as files of the format do. Throws FileError where it cannot be read.
bool has_magic(const OpenFile& file, const FileFormat& format);

/// The header of a file. Throws FileError for any that is not such as sealed() makes it.
template <typename Header>
Header read_header(const OpenFile& file) {
  Header header;
  require_mark(file, sizeof(Header), Header::format);
  const bool is_there = file.fill(0, std::span(&header, 1));
  if (!is_there || header.checksum != crc32c(checksummed_bytes(header)))
    file.refuse("found a damaged header, expected one that meets its checksum");
  return header;
}

}  // namespace cg2d
