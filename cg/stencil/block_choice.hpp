#pragma once

// How many steps a pass makes: predicted from measured times.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cg/stencil/plane_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class PlaneStore;
class StencilMethod;

/// The work of a rank, whatever the block.
struct StencilWork {
  std::int64_t plane_count = 0;                                  ///< planes of the largest slab
  int step_count = 0;                                            ///< steps of the whole run
  std::function<std::int64_t(int step_count)> planes_of_pass{};  ///< computed in a pass of so many steps
};

/// Measured times of a plane on the slowest rank.
struct StorageTimes {
  double plane_s = 0.0;  ///< read and written; 0 in memory
  double work_s = 0.0;   ///< the part of it that computing does not hide: checksums
};

/// One number of steps per pass, with the measured time of a plane's step, and the expected times of all passes.
struct BlockPrediction {
  int block = 1;
  double plane_step_s = 0.0;
  int pass_count = 0;
  double computing_s = 0.0;
  double storage_s = 0.0;  ///< reading and writing, were they alone
  /// All passes: the longer of computing, with the work of storing, and of storage, with a reserve.
  double total_s = 0.0;
};

/// 1, 2, 3, 4, 6, 8, 12, ...: up to `most`, which is the last one.
std::vector<int> candidate_blocks(int most);
/// plane_step_s: the measured time of a plane's step, with passes of so many.
BlockPrediction predict_block(const StencilWork& work, int block, double plane_step_s,
                              const StorageTimes& storage);
/// The smallest block whose predicted time is within 2 % of the best one's, with a device that is a quarter slower than measured: so
/// reading and writing stay hidden, and no memory is taken for nothing. At least one prediction.
const BlockPrediction& choose_block(std::span<const BlockPrediction> predictions);

/// The figures that a trial measured and predicted.
struct BlockChoice {
  std::vector<BlockPrediction> tried{};
  StorageTimes storage{};
  double duration_s = 0.0;
};

/// All ranks measure at the same time, and the slowest one counts. Planes of the store are overwritten. Collective. Throws
/// RunError on every rank alike, MpiError, std::bad_alloc. Takes a few seconds at most, unless the device is slow.
///   size   with the longest block that memory, steps and slabs allow
///   store  nullptr: reading and writing take no time
BlockChoice try_blocks(const StencilMethod& method, const StencilWork& work, const FrontSize& size,
                       PlaneStore* store, comm::RankGroup& group);

}  // namespace cg2d
