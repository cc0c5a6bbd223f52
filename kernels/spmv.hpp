#pragma once

// The product of one block of a sparse matrix with its part of a vector: the interface of all kernels, the
// table that lists them, and the choice among a kernel's loops.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// How much of a block a kernel stores.
///
/// whole: every entry. The product is q_rows = A p_columns.
///
/// half: one entry of each mirrored pair of a symmetric matrix; the caller drops the other one before it
/// makes the kernel. An entry a at (row, column) stands for itself and for its mirror, which belongs to
/// another block unless the block is the whole matrix. The product is q_rows = A p_columns together with
/// q_columns = A^T p_rows, and the sum of both over all blocks is the product with the whole matrix. An entry
/// on the diagonal of the whole matrix is its own mirror: it is stored as a / 2, which is exact, and both
/// halves are added.
enum class Storage { whole, half };

/// The numbers of vectors that kernels for several take; fewer are filled up.
inline constexpr std::array vector_counts{2, 4, 8, 16};
/// The least number of vectors, 1 or one of vector_counts, that has room for `count`; 0: there is none.
constexpr int vector_count_for(int count) {
  if (count == 1) return 1;
  for (const int possible : vector_counts) {
    if (count <= possible) return possible;
  }
  return 0;
}

/// The vectors of one product. With KernelOptions::vector_count all lengths are that many times as large, and the
/// elements of a row, one of each vector, are neighbours. Results must not overlap anything; p_columns and p_rows may overlap.
struct Operands {
  std::span<const double> p_columns{};  ///< column_count doubles
  std::span<const double> p_rows{};     ///< row_count doubles with half storage; ignored, may be empty, else
  std::span<double> q_rows{};           ///< row_count doubles, overwritten or added to
  /// column_count doubles with half storage, overwritten or added to; ignored, may be empty, else.
  std::span<double> q_columns{};
  /// Reproducible kernels only. The sums are q_rows + q_rows_low: row_count doubles, overwritten or added to as q_rows.
  std::span<double> q_rows_low{};
  /// Reproducible kernels only: a power of two, no less than any magnitude in the whole vector, of which
  /// p_columns is a part; the same for all of the blocks whose sums are added up.
  double p_bound = 0.0;
};

/// How a product is made.
struct ProductMode {
  bool is_added = false;  ///< adds to q_rows instead of overwriting it
  /// Adds to q_columns, too, instead of overwriting it: the block goes on with other rows of the same columns. One thread then has the
  /// bits of the one block that has all of these rows, where they are cut at multiples of KernelRow::panel_rows.
  bool is_continued = false;
  /// Makes one of `share_count` shares of the product. The product is all shares in the order 0, 1, ...;
  /// between them q_rows and q_columns are unspecified, and the caller leaves them and the operands alone.
  /// Shares have about equal cost where the kernel's format can be cut so; some may be empty.
  int share = 0;
  int share_count = 1;

  bool is_last_share() const { return share + 1 == share_count; }
};

/// The share of `count` items that a mode asks for.
struct ShareRange {
  int64_t begin;
  int64_t end;

  ShareRange(int64_t count, const ProductMode& mode)
      : begin(count * mode.share / mode.share_count), end(count * (mode.share + 1) / mode.share_count) {}
};

/// Multiplies one block. Not thread-safe; uses as many OpenMP threads as it was made for.
class SpmvKernel {
 public:
  SpmvKernel() = default;
  virtual ~SpmvKernel() = default;
  SpmvKernel(const SpmvKernel&) = delete;
  SpmvKernel& operator=(const SpmvKernel&) = delete;

  /// The kernel's name, as in the table.
  virtual std::string_view name() const = 0;
  /// The instruction set of the loop that runs, e.g. "avx512".
  virtual std::string_view instruction_set() const = 0;
  /// The whole product, q overwritten. The same operands give the same bits every time.
  void multiply(const Operands& operands) { multiply(operands, {}); }
  /// The product added to q_rows, or one share of it. The bits do not depend on the number of shares.
  virtual void multiply(const Operands& operands, const ProductMode& mode) = 0;
  /// Bytes of matrix data that one product reads.
  virtual int64_t matrix_byte_count() const = 0;

  /// The arrays that a product reads, those without elements included; valid as long as the kernel. A caller that writes to
  /// them changes the matrix.
  [[nodiscard]] virtual std::vector<StoredArray> stored_arrays() = 0;
  /// Whether a product reads and writes only inside of its vectors, by the column numbers that are stored; the structure is
  /// taken as right. Cost: one pass over the column numbers, on the kernel's threads.
  virtual bool has_columns_in_range() const = 0;
};

/// The settings that can be tuned to a machine. In KernelOptions, an empty one is left to the kernel, and a
/// kernel ignores those that it does not have. In a KernelRow, these are the kernel's own values; those that
/// it does not have are empty.
struct Tuning {
  std::optional<int> critical_vector_length{};  ///< rows with fewer entries take the scalar loop; >= 0
  std::optional<int> prefetch_distance{};       ///< in entries; >= 0
  std::optional<int> block_width{};             ///< columns of a column block; see is_block_width
};

/// The number of columns that 16 bits tell apart.
constexpr int max_block_width = 1 << 16;

/// A power of two from 2^6 to 2^16.
constexpr bool is_block_width(int width) {
  return 1 << 6 <= width && width <= max_block_width && std::has_single_bit(static_cast<unsigned>(width));
}

/// The settings of a kernel.
struct KernelOptions {
  int thread_count = 1;  ///< OpenMP threads, >= 1
  Tuning tuning{};
  /// The vectors of a product: 1, or one of vector_counts for rows that make several.
  int vector_count = 1;
  /// One of KernelRow::instruction_sets; empty: the preferred one.
  std::optional<InstructionSet> instruction_set{};
  /// The column of the block that is the same element of the vectors as its row 0, where rows and columns are numbered alike; it need not
  /// be in the block. Where they meet, p_rows and p_columns are then the same numbers.
  std::optional<int64_t> column_of_row_0{};
  /// Of reproducible sums: for each row of the block a power of two that is no less than the sum of the magnitudes in the whole
  /// row of the matrix, of which the block may have a part (agree_on_row_bounds() in cg/solver/assembled_operator.cpp). Empty: sums as usual.
  std::span<const double> row_bounds{};
  /// A power of two, no less than the number of entries of any row of the matrix: sums have the same bits in any order and any cut of the
  /// matrix into blocks (exact_sums.hpp), for one vector. 0: sums as usual.
  double most_terms = 0.0;
};

using KernelMaker = std::unique_ptr<SpmvKernel> (*)(CsrBlock block, const KernelOptions& options);

/// Memory of a format in column blocks for each window of rows in each column block, whether it has entries or not.
struct WindowMemory {
  int64_t rows = 1;          ///< rows of a window
  int64_t bytes = 0;         ///< stored
  int64_t making_bytes = 0;  ///< more, while the windows of up to KernelRow::most_panel_rows are made
};

/// One kernel, with the properties that callers need before they make one: nothing outside of a
/// kernel's own file depends on its name.
struct KernelRow {
  std::string_view name{};
  std::string_view description{};
  Storage storage = Storage::whole;
  /// The first row with this flag of each storage is what --kernel auto means where that storage is wanted.
  bool is_default = false;
  /// Tried on a matrix of a user's: one of these is fast, whatever the pattern.
  bool is_tried = false;
  /// Never slow on any pattern. The first row with this flag is taken where nothing is tried.
  bool suits_any_pattern = false;
  /// With KernelOptions::column_of_row_0 the sums of an index that is among rows and columns may all be in q_columns: only both together are
  /// the product.
  bool joins_sums = false;
  /// Whether a sample of the rows of a block, with all entries, shows what the kernel gains by. Kernels that have this gain by what the matrix is
  /// made of rather than by its size: they are taken only where a user names them, and tried on a user's matrix where this says so. Cost: less
  /// than a product.
  bool (*has_use_for)(const CsrBlock& whole, const KernelOptions& options) = nullptr;
  /// Bytes of matrix data per nonzero of the whole matrix that a product moves, about. With half storage an
  /// entry and its mirror are two nonzeros.
  double bytes_per_nonzero = 0.0;
  bool converts = false;  ///< makes a format of its own from the CSR; for a moment both are in memory
  /// Bytes per nonzero that it takes beside the CSR while it converts, where these are more than its format's.
  double conversion_bytes_per_nonzero = 0.0;
  WindowMemory windows{};
  /// Doubles that each thread has for a column, with half storage.
  int doubles_per_column = 1;
  Tuning defaults{};
  /// Instruction sets of the loops that run on this processor, narrowest first.
  std::vector<InstructionSet> instruction_sets{};
  /// Measures which of these is the fastest, at its first call; nullptr: the widest one.
  InstructionSet (*measured_instruction_set)() = nullptr;
  /// make() calls this, with options that it has checked and that name an instruction set.
  KernelMaker maker = nullptr;
  bool makes_several = false;       ///< for KernelOptions::vector_count vectors at once, 2 or more
  bool makes_reproducible = false;  ///< with KernelOptions::most_terms
  /// make_external() calls this; nullptr: there is no such kernel.
  std::unique_ptr<SpmvKernel> (*external_maker)(const ExternalArrays& block,
                                                const KernelOptions& options) = nullptr;
  /// Rows that are converted together: panels that begin at multiples of it have the bits of the whole block.
  int64_t panel_rows = 1;
  /// A panel has no more rows: make() would cut them into several pieces, which make_external() does not know. A multiple of panel_rows.
  int64_t most_panel_rows = std::numeric_limits<int64_t>::max();
  /// Another instruction set's loop takes other arrays.
  bool format_depends_on_set = false;
  /// The reproducible kernel that is taken when none is asked for: the first row with this flag.
  bool is_default_for_reproducible = false;
  /// The kernel for several vectors that is taken when none is asked for: the first row with this flag.
  bool is_default_for_several = false;

  bool stores_half() const { return storage == Storage::half; }
  /// Bytes that the windows of a block take, with the default block width. making_threads: most at once, until so many threads have made the
  /// format; 0: when it is made.
  int64_t window_bytes(int64_t row_count, int64_t column_count, int making_threads = 0) const;
  /// Whether make() and make_external() take so many vectors.
  bool takes(int vector_count) const { return vector_count == 1 || makes_several; }
  bool takes_external(int vector_count) const { return external_maker != nullptr && takes(vector_count); }
  /// The instruction set that the kernel takes by itself; the same at every call. The first call may measure.
  InstructionSet preferred_instruction_set() const {
    return measured_instruction_set ? measured_instruction_set() : instruction_sets.back();
  }
  /// Makes a kernel for options that it can make, and takes the block over: with half storage, the half of it that is stored. Throws
  /// std::bad_alloc, and std::invalid_argument for an instruction set that has no loop, for another number of vectors than 1 or one of vector_counts, and
  /// for reproducible sums without a bound for each row.
  std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) const;
  /// Makes the kernel that make() makes of a block of so many rows on one thread, with sums as usual, for arrays with the
  /// same contents that are lent to it before a product (StoredArray::memory). Throws as make(), and std::invalid_argument for sizes of arrays that
  /// are not those of such a block.
  std::unique_ptr<SpmvKernel> make_external(const ExternalArrays& block, const KernelOptions& options) const;
};

/// All kernels, those on whole blocks first.
std::span<const KernelRow> kernel_table();

/// The row of that name, or nullptr.
const KernelRow* find_kernel(std::string_view name);
/// The row of that name. Throws std::invalid_argument if there is none.
const KernelRow& kernel_named(std::string_view name);
/// The plainest kernel of a storage, the first one in the table: what all kernels of that storage are compared with.
const KernelRow& reference_kernel(Storage storage);
/// The kernel that is taken for a storage when none is asked for.
const KernelRow& default_kernel(Storage storage = Storage::whole);
/// The kernel that is taken for several vectors when none is asked for.
const KernelRow& default_kernel_for_several();
/// The kernel with a reproducible form that is taken when none is asked for.
const KernelRow& default_reproducible_kernel();
/// The kernel for a matrix of which nothing but its size is known.
const KernelRow& kernel_for_any_pattern();
/// The kernel on which the critical vector length of a machine is measured: the first one that has it.
const KernelRow& critical_length_kernel();

// ---------------------------------------------------------------- the choice among a kernel's loops

/// The set with the fastest loop: each multiplies a small block, whose vectors stay in the first-level cache. The
/// expected one is taken unless another one takes less than 0.8 of its time, so that the choice, and with it the
/// order of additions, is the same in every run. Instruction sets alone do not tell: gathers and scatters are slow
/// on AMD's processors, and on those of Intel whose microcode keeps gathers from leaking data. Where the user names a set
/// (instruction_set_variable), the last of `sets` is taken unmeasured. Cost: 2 to 4 ms, three times as much where
/// another loop is taken, nothing for a single set. Throws std::bad_alloc.
InstructionSet fastest_loop(KernelMaker make, const std::vector<InstructionSet>& sets,
                            InstructionSet expected);

/// The fastest of Make's loops for those of Sets that this processor has: by what gathers take one is expected.
template <KernelMaker Make, const auto& Sets>
InstructionSet measured_set() {
  static const auto fastest = [] {
    const auto sets = of_this_processor(Sets);
    const auto expected = std::ranges::lower_bound(sets, fastest_gathering_instruction_set());
    return fastest_loop(Make, sets, expected == sets.end() ? sets.back() : *expected);
  }();
  return fastest;
}

}  // namespace cg2d::kernels
