#pragma once

// One summation of the transport "shared": over the process row or over the process column.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/buffer.hpp"
#include "comm/messages.hpp"
#include "comm/node_exchange.hpp"
#include "comm/node_plan.hpp"
#include "comm/shared_areas.hpp"

namespace cg2d::comm {

/// Sums this rank's column piece of q. Each rank of a node adds up the partial sums of its own piece where
/// they are. For pieces of other nodes' ranks the node's ranks first add up their own partial sums, each rank
/// an equal share of them; then one message goes to each node. The references must outlive it.
class SharedSum {
 public:
  /// `link` is needed where there are several nodes; `memory` gives the buffer of the result. Collective.
  SharedSum(const SharedStand& stand, Line over, MessageLink* link, std::pmr::memory_resource& memory);

  /// My partial sums of the whole block. Waits until all ranks of the node have read the last ones, unless
  /// there was a sum_scalars() since.
  [[nodiscard]] std::span<double> partial(const ScalarSumCounts& scalar_sums);
  std::span<const double> result() const;
  void run(const ScalarSumCounts& scalar_sums);

 private:
  /// A part of the sums for other nodes, which this rank adds up.
  struct Share {
    int group;
    std::vector<const double*> sources;
    std::span<double> target;
  };

  void prepare(MessageLink* link);
  void add_shares(const NodeSums& sums, int64_t begin);
  void exchange();
  uint64_t local_count(int group) const { return local_counts_[static_cast<size_t>(group)]; }
  void wait_for_partials(int group);

  SharedStand stand_;
  Line over_;
  std::span<double> partial_;
  int my_group_ = 0;                    // whose partial sums I write
  int summed_group_ = 0;                // whose sums my piece is
  std::vector<uint64_t> local_counts_;  // ranks of this node, by group
  std::vector<const double*> sources_;  // partial sums of my piece
  Buffer result_;
  bool in_place_ = false;  // a group of one: the partial sums are the sums
  std::vector<Share> shares_;
  std::optional<NodeExchange> exchange_;  // with other nodes, where there are some
  uint64_t number_ = 0;
  uint64_t scalars_at_run_ = 0;
};

}  // namespace cg2d::comm
