#pragma once

// A rank's block of the matrix in a file: panels of consecutive rows, in the format of a kernel. No MPI.
//
//     header     4096 bytes: PanelFileHeader and zeros
//     panels     one after the other, each from a multiple of 4096 bytes on: the kernel's arrays, each from a multiple of 64 on
//     index      a PanelEntry for each panel
//
// Every panel has its CRC-32C, so have the index and the header. A file is exactly as long as its header says.

#include "cg/base/storage/open_file.hpp"
#include "cg/base/storage/unnamed_file.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Panels and buffers begin at multiples of it, as reading past the system's cache (O_DIRECT) asks for.
inline constexpr int64_t panel_alignment = 4096;

/// The properties that a file must have to serve a run.
struct PanelFileKey {
  uint64_t matrix_hash = 0;       ///< hash of all that the values depend on
  std::array<char, 24> kernel{};  ///< its name, and zeros
  /// The instruction set of the loop that the arrays are for, and zeros; zeros alone where those of all loops are the same.
  std::array<char, 16> instruction_set{};
  int64_t block_width = 0;   ///< Tuning::block_width, 0: the kernel has none
  int64_t vector_count = 1;  ///< KernelOptions::vector_count: kernels for several vectors have other arrays
  int64_t first_row = 0;     ///< first row of the block
  int64_t row_count = 0;
  int64_t first_column = 0;
  int64_t column_count = 0;

  friend bool operator==(const PanelFileKey&, const PanelFileKey&) = default;
};

/// Figures that a run reports of the block, which it does not make again.
struct PanelFileFigures {
  int64_t nonzero_count = 0;
  RowLengths row_lengths;
  SourceFacts source;
  uint64_t value_sum = 0;  ///< sum of the hashes of the block's entries, see value_hash.hpp; 0: not asked for
};

/// At the begin of the file.
struct PanelFileHeader {
  static constexpr FileFormat format{
      .mark = {.magic = {'C', 'G', '2', 'D', 'P', 'N', 'L', '\n'}, .version = 4},
      .content = "a file of panels"};

  FileMark mark = format.mark;
  PanelFileKey key;
  PanelFileFigures figures;
  int64_t panel_count = 0;
  int64_t array_count = 0;  ///< arrays of each panel
  int64_t index_position = 0;
  uint32_t index_checksum = 0;
  uint32_t checksum = 0;
};
static_assert(sizeof(PanelFileHeader) <= panel_alignment);

struct PanelEntry {
  static constexpr size_t most_arrays = 16;

  int64_t position = 0;    ///< in the file
  int64_t byte_count = 0;  ///< a multiple of panel_alignment
  int64_t first_row = 0;   ///< within the block
  int64_t row_count = 0;
  uint32_t checksum = 0;
  uint32_t unused = 0;
  std::array<size_t, most_arrays> array_bytes{};  ///< of the kernel's arrays, and zeros
};
static_assert(std::is_trivially_copyable_v<PanelEntry> && sizeof(PanelEntry) == 168);

/// The place of each array within a panel, and the bytes of the panel.
struct PanelLayout {
  std::vector<int64_t> array_positions;
  int64_t byte_count = 0;
};
PanelLayout panel_layout(std::span<const size_t> array_bytes);

/// Writes a file below its name in the folder; see NewFile. Throws RunError (cannot_create, cannot_write).
class PanelFileWriter {
 public:
  PanelFileWriter(const std::string& folder, const std::string& name, const PanelFileKey& key);

  /// The file will have about so many bytes. Throws where the file system has no room for them.
  void reserve(int64_t byte_count) const { file_.reserve(byte_count); }
  /// The next rows of the block. All of the kernel's arrays must take memory that is lent to them.
  void append(kernels::SpmvKernel& panel, int64_t row_count);
  /// Returns when the file is complete, on the disk and has its name.
  void finish(const PanelFileFigures& figures);
  /// Spent on writing and on waiting for the device, so far.
  double write_s() const { return write_s_; }

 private:
  NewFile file_;
  PanelFileHeader header_;
  std::vector<PanelEntry> entries_;
  std::vector<std::byte> image_;
  int64_t row_ = 0;
  double write_s_ = 0.0;
};

/// A file that is there. Header and index have been checked; each panel has its checksum.
struct PanelFile {
  /// Throws FileError with the reason.
  explicit PanelFile(std::string path_of_file);

  /// The bytes of each array of a panel.
  std::span<const size_t> array_bytes(size_t panel) const {
    return std::span(panels[panel].array_bytes).first(static_cast<size_t>(header.array_count));
  }
  bool is_direct() const;

  std::string path;
  PanelFileHeader header;
  std::vector<PanelEntry> panels;
  int64_t most_panel_bytes = 0;
  int64_t panel_bytes = 0;  ///< bytes of all panels
  Descriptor
      descriptor;  ///< for reading, past the system's cache where the file system can do that (O_DIRECT)
};

/// A rank's place in a folder of panels: the name of its file, and a claim to it; makes the folder where it is missing. What a killed run has left there under temporary names is removed.
struct PanelFolder {
  /// Throws RunError, as FolderClaim.
  PanelFolder(std::string path, int rank, int rank_count);

  std::string file_path() const { return folder + "/" + file_name; }
  /// This rank's file, if it is there, intact and has this key; else nullptr.
  std::unique_ptr<PanelFile> existing(const PanelFileKey& key) const;
  /// Removes this rank's file, if there is one.
  void remove_file() const;

  std::string folder;
  std::string file_name;  ///< "3-of-4.panels"
  FolderClaim claim;
};

}  // namespace cg2d
