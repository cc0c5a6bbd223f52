#pragma once

// A user's matrix in a file: read in parallel, or in binary form, which is written once and read directly for any grid; and one that is made and stored alike.

#include "cg/matrix/files/cache_file.hpp"
#include "cg/matrix/files/system_matrix.hpp"

namespace cg2d {

class TextFault;

/// Writes a matrix in binary form; it has no permutation, and must have passed its checks: every rank writes its own rows. The
/// file gets its name when it is complete; a kill before leaves a temporary file beside it. Collective. Throws
/// RunError (cannot_create, cannot_write) on every rank alike.
void write_cache(const StoredMatrix& matrix, const std::string& path, comm::RankGroup& group);

struct MatrixFileOptions {
  std::string path;  ///< for open_source() the text of a matrix, as source_from() takes it
  /// Rows and columns in a random order of this seed, the same for both.
  std::optional<uint64_t> permutation_seed{};
  /// Where read_market_matrix() keeps the entries in place of memory, on this rank. Empty: in memory.
  std::string scratch_folder{};
  /// StoredMatrix::symmetrize(); empty: the matrix stays as it is.
  std::optional<double> symmetrize_tolerance{};
  /// The file, general by its header, holds one triangle of a symmetric matrix: the other one mirrors it.
  bool mirrors = false;
  /// Asked before entries are stored; empty: require_memory().
  MemoryCheck check_memory{};
  /// Told now and then which part of its share is done, 0 to 1, on rank 0, where the size of the content is known.
  std::function<void(double done)> progress{};
};

/// Reads a square matrix in the Matrix Market format, coordinate form, plain or compressed by gzip or zstd. Each rank parses the
/// lines that begin in its share of the bytes, and sends the entries to the ranks that store their rows. A
/// compressed file cannot be cut: every rank decompresses all of it, and parses every P-th part of 4 MiB. So
/// decompression alone is not shared, and no bytes pass through one rank. Memory per rank: that of the store, and
/// 64 MB. Checks neither symmetry nor definiteness. Collective. Throws RunError (bad_data), alike on every rank: the
/// file, the line, what was found and what was expected; RunError (cannot_create) where the scratch folder will not do, or has less room
/// than is needed; RunError (bad_data) where both triangles have entries, and one is to be mirrored; InputError where A is symmetric by
/// its header, and is to be made symmetric; MpiError, std::bad_alloc.
std::unique_ptr<StoredMatrix> read_market_matrix(const MatrixFileOptions& options, comm::RankGroup& group);

/// The matrix of a file in binary form (cg2d convert), with this name for people. It is left where it is, and checked where it is read, unless a
/// permutation is asked for. The rest as for read_market_matrix().
std::unique_ptr<SystemMatrix> open_cache(const MatrixFileOptions& options, const std::string& name,
                                         comm::RankGroup& group);

/// The matrix of a file in any form: the Matrix Market format is read, the binary form (cg2d convert) is left where
/// it is, unless a permutation is asked for. The rest as for read_market_matrix().
std::unique_ptr<SystemMatrix> open_matrix(const MatrixFileOptions& options, comm::RankGroup& group);

/// The matrix of a file in binary form, left where it is. For another file throws InputError, which begins with `wanted_by`, and says how
/// to make the binary form and what memory that takes. The rest as for open_matrix().
std::unique_ptr<SystemMatrix> open_binary_matrix(const std::string& path, std::string_view wanted_by,
                                                 comm::RankGroup& group);

/// A matrix of the library's own sources (the path of the options is its text), of which nothing is stored, unless a permutation is asked for: its
/// blocks are made when they are asked for. One that is negative definite (SourceRow) becomes -A. Makes it once, strip by strip, to count its rows,
/// where memory_bytes are given within so many per rank. The check of the options is asked before. Collective. Throws InputError for a bad text,
/// RunError (memory), alike on every rank; MpiError, std::bad_alloc.
std::unique_ptr<SystemMatrix> open_source(const MatrixFileOptions& options,
                                          std::optional<int64_t> memory_bytes, comm::RankGroup& group);

/// The matrix; with a permutation_seed one with rows and columns in that random order, for the cut that needs one, which is stored: each rank makes
/// an equal share of the rows, and sends the entries to the ranks that store them. Collective. Throws RunError, alike on every rank; MpiError,
/// std::bad_alloc.
std::unique_ptr<SystemMatrix> in_asked_order(std::unique_ptr<SystemMatrix> matrix,
                                             const MatrixFileOptions& options, comm::RankGroup& group);

/// The fault with the least offset on any rank. Collective.
std::optional<TextFault> first_fault(const std::optional<TextFault>& own, comm::RankGroup& group);

/// Throws FileError on every rank where the ranks find different files under this name, as on nodes with folders of
/// their own: by the sizes and the first MiB. Collective.
void require_same_file(const std::string& path, comm::RankGroup& group);

}  // namespace cg2d
