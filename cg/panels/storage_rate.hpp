#pragma once

// The rate at which the storage of a folder gives panels to readers.

#include <cstdint>
#include <string>

#include "cg/files/scratch_file.hpp"
#include "cg/panels/panel_reader.hpp"

namespace cg2d {

/// A file without a name, written for measuring; it is gone with this object.
class StorageSample {
 public:
  /// Writes panel_count panels of panel_bytes, a multiple of panel_alignment. Throws RunError (cannot_create, cannot_write).
  StorageSample(const std::string& folder, std::int64_t panel_bytes, int panel_count);

  /// Bytes per second of reading panel after panel, `depth` of them under way, for at least so long; past the cache of the system
  /// where the file system can do that. Throws RunError (cannot_write, unavailable).
  [[nodiscard]] double rate(const PanelReaderRow& reader, int depth, double least_s) const;

 private:
  ScratchFile file_;
  std::int64_t panel_bytes_;
  int panel_count_;
};

}  // namespace cg2d
