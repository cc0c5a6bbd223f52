#pragma once

// A rank's block of the matrix that is larger than memory: in a file, in panels of consecutive rows in the format of a kernel, and its product,
// in which panels are read while others are multiplied. No MPI.
//
//     header     4096 bytes: PanelFileHeader and zeros
//     panels     one after the other, each from a multiple of 4096 bytes on: the kernel's arrays, each from a multiple of 64 on
//     index      a PanelEntry for each panel
//
// Every panel has its CRC-32C, so have the index and the header. A file is exactly as long as its header says.

#include "cg/matrix/matrix_source.hpp"
#include "cg/panels/panel_io.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

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

// ---------------------------------------------------------------- product

/// The memory that a streamed block gets.
struct StreamMemory {
  int resident_count = 0;  ///< panels that stay in memory, once they are read
  int buffer_count = 2;    ///< panels that are read and multiplied; 0 where all are resident
};
/// As many resident panels, of most_panel_bytes at most, as the bytes allow beside the buffers, at most depth of them. Empty: not even two buffers
/// fit.
std::optional<StreamMemory> stream_memory(int64_t panel_count, int64_t most_panel_bytes, int64_t byte_count,
                                          int depth);

/// The reading since the block was made.
struct StreamFigures {
  int64_t product_count = 0;
  int64_t byte_count = 0;  ///< read by products
  double wait_s = 0.0;     ///< products waited for the file
  double check_s = 0.0;    ///< seconds spent on checksums
  double product_s = 0.0;  ///< seconds of all products, waiting and checking included
};

/// Takes a file of panels of a kernel for a whole block. Every panel is checked against its CRC-32C each time that it has been read; one
/// that does not meet it is read once more, as is one that could not be read.
///
///     panels      0      1      2      3      4      5            in the order of products
///                 r             r             r                  resident: as evenly spread as their number allows
///     buffers            a             b             a            the rest goes through the buffers, in turns; the first panels of
///                                                                 the next product are read while the solver works on vectors
///
/// Panels are multiplied in the order of the rows: with half storage each goes on with the sums over columns of those before it. The file is
/// shared by no one who writes. A product that
/// cannot read fills q with NaN, so that every rank learns of it by the next sum;
/// failure() tells why, and so does every later product. The bits are those of the kernel with the whole block in memory.
class StreamedKernel final : public kernels::SpmvKernel {
 public:
  /// options: as for the kernel that wrote the file, for one thread, and one vector or several. Reads the resident panels. Throws RunError (bad_data, cannot_write),
  /// std::bad_alloc.
  StreamedKernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                 std::unique_ptr<PanelFile> file, const StreamMemory& memory, const PanelIoRow& reader);

  std::string_view name() const override { return row_.name; }
  std::string_view instruction_set() const override;
  int64_t matrix_byte_count() const override { return file_->panel_bytes; }
  /// None: those of panels come and go, under checksums of their own.
  [[nodiscard]] std::vector<kernels::StoredArray> stored_arrays() override { return {}; }
  bool has_columns_in_range() const override { return true; }
  /// In one share.
  void multiply(const kernels::Operands& operands, const kernels::ProductMode& mode) override;

  /// Bytes that each product reads.
  int64_t streamed_byte_count() const;
  /// Reads streamed panels for so long, and on to the last one of a product, without multiplying them. Returns bytes per second: what the
  /// storage gives this rank while others do the same. 0 where nothing is streamed, or cannot be read. Between products.
  double measure_reading(double least_s);

  const std::optional<RunError>& failure() const { return failure_; }
  const StreamFigures& figures() const { return figures_; }
  const PanelFile& file() const { return *file_; }
  const StreamMemory& memory() const { return memory_; }

 private:
  struct Panel {
    std::unique_ptr<kernels::SpmvKernel> kernel;
    std::vector<int64_t> array_positions;
  };

  void multiply_panels(const kernels::Operands& operands, const kernels::ProductMode& mode);
  // The streamed panels have numbers that count on through all products: they are read, and multiplied, in this order.
  size_t panel_of(size_t number) const { return streamed_[number % streamed_.size()]; }
  [[nodiscard]] PanelRequest request_for(size_t number);
  std::byte* finish_reading(size_t number);
  /// The buffer of the next panel is free: the one that goes there is begun.
  void go_on();
  void check(const PanelEntry& entry, const PanelResult& result, std::span<const std::byte> bytes) const;
  static void lend(Panel& panel, std::byte* bytes);

  const kernels::KernelRow& row_;
  size_t vector_count_;
  std::unique_ptr<PanelFile> file_;
  StreamMemory memory_;
  std::vector<Panel> panels_;
  std::vector<size_t> streamed_;             // panels that go through the buffers
  kernels::PageBuffer<std::byte> resident_;  // the resident panels one after the other, for huge pages
  kernels::PageBuffer<std::byte> buffers_;   // buffer_count of the longest panel
  size_t next_ = 0;                          // number of the streamed panel that is multiplied next
  std::unique_ptr<PanelIo> reader_;          // gone before the buffers
  std::optional<RunError> failure_;
  StreamFigures figures_;
};

}  // namespace cg2d
