#pragma once

// The way to read panels that a folder's storage likes best, measured: `cg2d tune --out-of-core`.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cg/panels/panel_io.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// One way to read, and what all ranks of a node got by it together.
struct TriedReading {
  PanelReading reading;
  double bytes_per_s = 0.0;
};

struct StorageTrial {
  std::vector<TriedReading> tried;  ///< by the size of panels, then by their number
  TriedReading best;  ///< the one with the least memory of those that are about as fast as the fastest
};

struct StorageTrialConfig {
  const std::string& folder;  ///< this rank's folder
  /// Memory of this rank, as StreamedBlockParts; its buffers get a part of it.
  std::int64_t memory_bytes = 0;
  int node_rank_count = 1;
};

/// The sizes of panels that are tried. The same on all ranks: those for which the rank with the least memory has room. Collective.
std::vector<std::int64_t> tried_panel_bytes(const StorageTrialConfig& config, comm::RankGroup& group);

/// Reads unlinked temporary files, 256 MiB on each node, with panels of these sizes, several numbers of them under way, all ranks at once. `say`
/// gets each size before it is tried. Cost: about six seconds. Collective; the same answer on all ranks. Throws RunError (cannot_create,
/// cannot_write).
StorageTrial try_storage(const StorageTrialConfig& config, const std::vector<std::int64_t>& sizes,
                         comm::RankGroup& group, const std::function<void(std::int64_t)>& say);

/// Bytes that a rank may use for buffers of panels: with more, the rest of its memory has to keep less of the matrix.
std::int64_t most_buffer_bytes(std::int64_t memory_bytes);

}  // namespace cg2d
