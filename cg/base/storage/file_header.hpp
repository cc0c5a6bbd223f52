#pragma once

// The begin of a file of numbers: its format, and a checksum of all that the header says. No MPI.
//
// A header is a trivially copyable struct as it is in the file: its first member is `FileMark mark`, the last one `std::uint32_t checksum`, and the
// members between them say what follows. `Header::format` describes the format.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "cg/base/storage/crc32c.hpp"
#include "cg/base/storage/open_file.hpp"

namespace cg2d {

/// The first 16 bytes. Numbers are in the order of bytes of the machine that wrote the file; byte_order tells a machine of another order to
/// refuse it.
struct FileMark {
  std::array<char, 8> magic{};
  std::uint32_t version = 1;
  std::uint32_t byte_order = 0x01020304;

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
void require_mark(const OpenFile& file, std::size_t header_bytes, const FileFormat& format);

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
