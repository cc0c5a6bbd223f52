#pragma once

// The cut of a matrix into one piece of rows and columns for each rank.

#include <cstdint>
#include <optional>

#include "cg/base/process_memory.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

inline constexpr std::string_view even_cut = "even";
inline constexpr std::string_view nonzeros_cut = "nonzeros";
inline constexpr std::string_view speed_cut = "speed";

/// A value of --cut.
struct MatrixCut {
  enum class Kind {
    automatic,  ///< the usual one of the work: even for the benchmark, nonzeros for a system
    even,       ///< equal numbers of rows
    nonzeros,   ///< equal numbers of nonzeros
    speed,      ///< shares of the nonzeros by speeds that the work measures; even until then
    random,     ///< even, of rows and columns in a random order
    file        ///< shares of the nonzeros, from a file
  };
  Kind kind = Kind::automatic;
  uint64_t seed = 0;   ///< of a random order
  std::string path{};  ///< of a file
};

/// "auto", "even", "nonzeros", "speed", "random:SEED" or "file:FILE". Throws InputError: the option, the text, and what would be valid.
MatrixCut matrix_cut_from(std::string_view text);

/// Throws InputError for cuts that the benchmark has not: a random order.
void require_cut_of_benchmark(std::string_view text);

/// The configuration with its cut, or the usual one where that is automatic.
Configuration with_cut(Configuration configuration, std::string_view usual);

/// Borders of one piece for each rank, as MatrixFacts has them. Collective. Throws FileError, alike on every rank, for a file that has
/// not one number greater than 0 for each piece, which names the line; RunError where it cannot be read.
std::vector<int64_t> piece_starts_for(const MatrixCut& cut, const MatrixSource& source,
                                      comm::RankGroup& group);

/// The shares in a file; piece_count: as of shares_in(). Local. Throws as shares_in(), and RunError where it cannot be read.
std::vector<double> shares_of_file(const std::string& path, int piece_count);
/// The number of ranks that a cut is for, which its file has as many shares for; empty: any number. Collective. Throws as piece_starts_for().
std::optional<int> rank_count_for(const MatrixCut& cut, comm::RankGroup& group);

/// The numbers of a text of shares: one for each piece (piece_count 0: for any number of them, 1 or more), separated by white space; from #
/// to the end of a line is a comment. path: of the file, for messages. Throws FileError with the line.
std::vector<double> shares_in(std::string_view text, const std::string& path, int piece_count);

/// This rank's piece of a vector by another layout of the same grid and length, from its piece by the present one; the pieces of vectors that
/// products take. Collective. Cost: as fetch().
HugePageVector moved_piece(std::span<const double> piece, const comm::BlockLayout& from,
                           const comm::BlockLayout& to, comm::RankGroup& group);

}  // namespace cg2d
