#pragma once

// The product of a block that is larger than memory: its panels are read from a file while others are multiplied.

#include "cg/base/errors.hpp"
#include "cg/panels/panel_file.hpp"
#include "cg/panels/panel_io.hpp"

namespace cg2d {

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
  void multiply_panel(size_t index, const kernels::Operands& operands, const kernels::ProductMode& mode);
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
