#pragma once

// The measurements of `cg2d tune`. All ranks measure at the same time, as they compute in a run, and a time
// is that of the slowest rank. What is compared runs in turns, so that a change of the machine hits all
// alike.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cg/block_product.hpp"
#include "cg/machine_description.hpp"
#include "cg/problem.hpp"
#include "cg/tuning_profile.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// How long a race may take.
struct RaceLimits {
  int fewest_rounds = 5;
  int most_rounds = 25;
  double budget_s = 1.0;          ///< no new round behind it
  double hopeless_factor = 2.0;   ///< a work that takes so many times as long as the best gets one turn only
  double shortest_turn_s = 1e-3;  ///< a turn repeats its work until it takes that long
};

/// Seconds of one call of each work, turn by turn; at least one turn. Collective; the same answer on every
/// rank.
std::vector<std::vector<double>> race_turns(comm::RankGroup& group,
                                            std::span<const std::function<void()>> works,
                                            const RaceLimits& limits);
/// Median seconds of one call of each work. Collective; the same answer on every rank.
std::vector<double> race(comm::RankGroup& group, std::span<const std::function<void()>> works,
                         const RaceLimits& limits);

/// Rows of that many entries in columns spread evenly over the block, at random within their share.
kernels::CsrBlock constant_rows_block(std::int64_t row_length, std::int64_t row_count,
                                      std::int64_t column_count);

/// The curve of ns per nonzero over row length. Collective.
std::vector<RowLengthPoint> measure_row_lengths(comm::RankGroup& group, int thread_count);

/// The curve of one kernel, by the length of the whole rows, also where half of them is stored. Collective.
/// Throws RunError, std::bad_alloc.
std::vector<RowLengthCost> measure_row_lengths_of(comm::RankGroup& group, const KernelInfo& kernel,
                                                  const kernels::Tuning& tuning, int thread_count);

/// What a case is measured with.
struct CaseSetting {
  const Problem& problem;
  comm::BlockLayout layout;
  const comm::TransportRow& transport;
  int thread_count = 1;
  int critical_vector_length = 0;
};

/// All kernels on one problem and grid: first the settings of each on a sample of the block, then CG steps of
/// all in turns. `say` gets a line per stage. Collective. Throws RunError when the memory does not suffice or
/// the kernels disagree.
TunedCase measure_case(comm::RankGroup& group, const CaseSetting& setting,
                       const std::function<void(const std::string&)>& say);

}  // namespace cg2d
