#pragma once

// A matrix of the library's own sources of which nothing is stored: for systems that are larger than memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cg/matrix/files/stored_matrix.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Its strips are made whenever they are asked for. Each rank keeps the lengths of its share of the rows, and their diagonal: 12 bytes for
/// each. A matrix that is negative definite (SourceRow) is made as -A. Entries and facts are those of generate_matrix().
class SourceMatrix final : public SystemMatrix {
 public:
  /// text: as source_from() takes it. Makes the matrix once, strip by strip, to count its rows, within memory_bytes per rank.
  /// check_memory: asked before, with the bytes that counting takes. Collective. Throws InputError for a bad text, RunError (memory),
  /// alike on every rank; MpiError, std::bad_alloc.
  SourceMatrix(const std::string& text, std::int64_t memory_bytes, comm::RankGroup& group,
               const MemoryCheck& check_memory = {});

  [[nodiscard]] std::int64_t working_bytes(const comm::BlockLayout& layout,
                                           const Strips& strips) const override {
    return source_->working_bytes(layout, strips);
  }
  SourceFacts build_strips(const comm::BlockLayout& layout, comm::RankGroup& group, int thread_count,
                           const Strips& strips, const StripSink& sink) const override;
  /// A hash of the source and the parameters that place and make its entries.
  [[nodiscard]] std::optional<std::uint64_t> content_hash() const override;

 private:
  /// Makes the matrix once more, strip by strip.
  void visit_entries(comm::RankGroup& group, const EntryVisit& visit) const override;

  const SourceRow& row_;
  std::unique_ptr<MatrixSource> source_;
  Strips strips_;  // strips of a rank's share of the rows
};

}  // namespace cg2d
