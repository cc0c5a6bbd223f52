#pragma once

// The bytes of a file, decompressed where it is a gzip or zstd file: read once, from begin to end. No MPI.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cg/base/interface.hpp"
#include "cg/base/storage/open_file.hpp"

namespace cg2d {

/// One file, open for reading. Local. Every operation throws FileError.
class ByteSource : public Interface {
 public:
  /// Fills the bytes from the present position on; fewer only at the end of the file. Returns how many.
  virtual std::size_t read(std::span<char> bytes) = 0;
  /// Goes forward to a position, at most to the end. Compressed bytes are decompressed and dropped.
  virtual void skip_to(std::int64_t position) = 0;
  [[nodiscard]] virtual std::int64_t position() const = 0;
  /// Bytes of the whole content; -1 where only reading it to the end would tell, as for compressed files.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] bool can_be_cut() const { return size() >= 0; }
};

/// Opens a regular file. The first bytes tell whether it is compressed, not the name.
std::unique_ptr<ByteSource> open_source(const std::string& path);

}  // namespace cg2d
