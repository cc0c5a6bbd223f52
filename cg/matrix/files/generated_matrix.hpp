#pragma once

// A matrix of the library's own sources, stored like one that a user's file has.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cg/matrix/files/stored_matrix.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct GeneratedMatrixOptions {
  std::string text;  ///< as source_from() takes it
  /// Rows and columns in a random order of this seed, the same for both.
  std::optional<std::uint64_t> permutation_seed{};
  /// Asked before anything is made; empty: require_memory().
  MemoryCheck check_memory{};
};

/// Every rank generates an equal share of the rows, and sends the entries to the ranks that store them. A matrix
/// that is negative definite (SourceRow) is stored as -A. Collective. Cost: 16 bytes per entry that moves; memory:
/// the share beside the store. Throws InputError for a bad text, alike on every rank; MpiError, std::bad_alloc.
std::unique_ptr<SystemMatrix> generate_matrix(const GeneratedMatrixOptions& options, comm::RankGroup& group);

}  // namespace cg2d
