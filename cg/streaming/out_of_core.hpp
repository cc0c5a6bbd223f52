#pragma once

// A rank's block on local storage: planned, written or found there, and streamed.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/panels/panel_folder.hpp"
#include "cg/panels/streamed_kernel.hpp"
#include "cg/streaming/out_of_core_options.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One rank's part. Trivially copyable: ranks send it as it is.
struct RankStream {
  std::int64_t file_bytes = 0;  ///< of all panels
  std::int64_t panel_count = 0;
  std::int64_t most_panel_bytes = 0;
  StreamMemory memory;
  StreamFigures figures;
  bool was_there = false;  ///< from an earlier run
  bool is_direct = false;
};

/// For the report; on rank 0.
struct OutOfCoreFacts {
  std::vector<std::string> folders;
  std::string reader;
  double write_s = 0.0;  ///< generated, converted and put on the disk; 0 where the files were there
  std::vector<RankStream> ranks;
};

/// All that the block depends on, and where it may go.
struct StreamedBlockParts {
  const MatrixSource& source;     ///< that makes strips
  std::uint64_t matrix_hash = 0;  ///< of all that its values depend on
  const comm::BlockLayout& layout;
  const ChosenKernel& kernel;
  const OutOfCoreOptions& options;
  std::int64_t memory_bytes = 0;  ///< for this rank's matrix data
  bool sums_values = false;       ///< PanelFileFigures::value_sum
};

/// The streamed block, ready for its first product, and what is known of it.
struct StreamedBlock {
  std::unique_ptr<PanelFolder> folder;  ///< locked as long as this lives
  std::unique_ptr<StreamedKernel> kernel;
  PanelFileFigures figures;
  double generation_s = 0.0;  ///< with writing; the slowest rank's
  bool was_there = false;
};

/// Takes the files of all ranks, where all are there and fit; else writes all. Collective. Throws RunError: memory where not even two
/// panels fit, cannot_create, cannot_write, try_again (PanelFolder), MpiError, std::bad_alloc.
StreamedBlock make_streamed_block(const StreamedBlockParts& parts, comm::RankGroup& group,
                                  const Progress& progress);

/// Of all ranks; kernel: that of the block, wherever it is now. Collective.
OutOfCoreFacts facts_of(const StreamedBlock& block, const StreamedKernel& kernel,
                        const OutOfCoreOptions& options, comm::RankGroup& group);

}  // namespace cg2d
