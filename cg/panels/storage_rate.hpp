#pragma once

// The rate at which the storage of a folder gives panels to readers.

#include <cstdint>
#include <string>

#include "cg/base/storage/scratch_file.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {

/// How panels are read: their size, and how many of them are under way.
struct PanelReading {
  std::int64_t panel_bytes = 0;
  int depth = 1;
  bool checks = false;  ///< computes the checksum of each, as products do
};

/// An unlinked temporary file, written for measuring; it is gone with this object.
class StorageSample {
 public:
  /// Writes so many bytes, a multiple of panel_alignment. Throws RunError (cannot_create, cannot_write).
  StorageSample(const std::string& folder, std::int64_t byte_count);

  /// Bytes per second of reading panel after panel for at least so long, past the cache of the system where the file system can do
  /// that. panel_bytes: a multiple of panel_alignment, at most the bytes of the file. Throws RunError (cannot_write, unavailable).
  [[nodiscard]] double rate(const PanelIoRow& reader, const PanelReading& reading, double least_s) const;

 private:
  ScratchFile file_;
  std::int64_t byte_count_;
};

}  // namespace cg2d
