#pragma once

// Reading and writing of parts of a file while others are worked on: the interface of all ways to do it, their table,
// and the rate at which the storage of a folder gives panels to them. No MPI.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cg/base/interface.hpp"
#include "cg/base/storage/unnamed_file.hpp"

namespace cg2d {

/// Panels, planes and their buffers begin at multiples of it, as reading past the system's cache (O_DIRECT) asks for.
inline constexpr int64_t panel_alignment = 4096;

/// Whether a request fills memory from the file, or the file from memory.
enum class PanelDirection { read, write };

/// Bytes of a file to be read into memory, or written from it. Position, memory and its size are multiples of panel_alignment.
struct PanelRequest {
  int slot = 0;  ///< names the request: one at a time for each
  int64_t position = 0;
  std::span<std::byte> memory{};
  PanelDirection direction = PanelDirection::read;
};

/// How a request ended.
struct PanelResult {
  int64_t byte_count =
      0;          ///< moved; fewer than asked for at an error, and when reading at the end of the file
  int error = 0;  ///< errno; 0: none
};

/// Reads and writes one file. Several requests may be under way, in any order. The destructor waits for all.
class PanelIo : public Interface {
 public:
  /// Returns at once, unless the system itself delays it.
  virtual void start(const PanelRequest& request) = 0;
  /// Waits for the request of a slot.
  virtual PanelResult wait(int slot) = 0;
};

/// The setup of a reader.
struct PanelIoSetup {
  int descriptor = -1;  ///< descriptor of the file; its owner outlives the reader
  int slot_count = 1;   ///< slots are 0 ... slot_count - 1
};

/// One way to read and write. A new one is a class derived from PanelIo, and its row in the table of panel_io.cpp.
struct PanelIoRow {
  std::string_view name;
  /// The reason why it cannot serve here; empty when it can.
  std::string (*why_unavailable)() = [] { return std::string(); };
  /// Throws RunError (unavailable).
  std::unique_ptr<PanelIo> (*make)(const PanelIoSetup& setup) = nullptr;
};

/// The best one first.
std::span<const PanelIoRow> panel_io_table();
/// The row of that name; nullptr: there is none.
const PanelIoRow* find_panel_io(std::string_view name);
/// The one that the variable CG2D_READER names, else the first one that can serve here. Throws InputError where the variable names none.
const PanelIoRow& usual_panel_io();

/// An unlinked temporary file, written for measuring; it is gone with this object.
class StorageSample {
 public:
  /// Writes so many bytes, a multiple of panel_alignment. Throws RunError (cannot_create, cannot_write).
  StorageSample(const std::string& folder, int64_t byte_count);

  /// Bytes per second of reading panel after panel for at least so long, `depth` of them under way, past the cache of the system where the file
  /// system can do that. panel_bytes: a multiple of panel_alignment, at most the bytes of the file. Throws RunError (cannot_write, unavailable).
  double rate(int64_t panel_bytes, int depth, double least_s) const;

 private:
  ScratchFile file_;
  int64_t byte_count_;
};

}  // namespace cg2d
