#pragma once

// The choice of one of a few grids, by a short measurement before the run.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

class Members;

/// The speed of all ranks together with the shares that suit a grid best, by the sum of their own speeds.
struct ReachedSpeed {
  comm::ProcessGrid grid;
  double share = 1.0;
};

/// Grids by the speeds of the ranks.
struct GridsBySpeed {
  std::vector<ReachedSpeed> reached{};  ///< by growing Px, of all grids; empty where no speeds are known
  comm::ProcessGrid equal_ranks;        ///< the first of the shortlist if all ranks were equal

  [[nodiscard]] double share_of(const comm::ProcessGrid& grid) const;
  /// "1x4 since its shares reach 100 % of the ranks' own speeds; those of 2x2, the first for equal ranks, 83 %"; empty where no speeds are
  /// known.
  [[nodiscard]] std::string why(const comm::ProcessGrid& chosen) const;
};

/// The most promising first; at least one.
struct GridShortlist {
  std::vector<comm::ProcessGrid> grids;
  std::string made_by;  ///< "model" or "rule"
  GridsBySpeed by_speed{};
};

/// A run whose grid is still open.
struct ShortlistConfig {
  const MatrixFacts& matrix;
  const Configuration& configuration;  ///< with the kernel that the rule is to count with
  /// The description of this machine, on rank 0; the others need none.
  const std::optional<MachineDescription>& machine;
  /// The kernel that a grid would get.
  std::function<const kernels::KernelRow&(const comm::ProcessGrid&)> kernel_for;
  std::vector<double>
      speeds{};         ///< [rank], nonzeros per second; pieces are to follow them. Empty: they do not
  UnevenRanks ranks{};  ///< for the model
};

/// The four best grids of the group's ranks. By the model where the machine's description has all their
/// kernels, without grids that are predicted to take more than 1.25 times the best one's time; else by the
/// rule of choose_grid(), with the time of the products where speeds are known. Collective: the same answer on every rank.
GridShortlist make_grid_shortlist(comm::RankGroup& group, const ShortlistConfig& config);

/// The result of a trial of grids, in the order of the shortlist. Its best is the verdict's candidate, or without a trial the first of
/// the shortlist.
struct GridTrial : Trial {
  comm::ProcessGrid best_grid;
  std::string shortlist_by;  ///< the source of the grids: "model" or "rule"
  GridsBySpeed by_speed{};
};

/// One line for people: the grids with their times, or why none was tried.
std::string describe_trial(const GridTrial& trial);

struct GridCut {
  comm::ProcessGrid grid;
  std::vector<std::int64_t> piece_starts;
};

/// A run whose grid is to be found.
struct GridTrialConfig {
  MatrixSource& source;                ///< its cut is that of each candidate meanwhile
  const Configuration& configuration;  ///< the transport must be known; grid and kernel are each candidate's
  const Environment& environment;
  /// The kernel for a grid.
  std::function<ChosenKernel(const comm::ProcessGrid&)> kernel_for;
  /// The cut of a candidate, with the places of its ranks. Collective. Empty: the source's own, on each grid.
  std::function<GridCut(const comm::ProcessGrid&)> cut_for{};
  double slowness = 1.0;  ///< how many times as long products of this rank take, on purpose
};

/// One combination of a trial, with everything known.
struct TriedConfiguration {
  Configuration configuration;
  ChosenKernel kernel;
};

/// The reason against a trial of these with all their blocks in memory at once: one phrase, the same on every rank; empty if
/// there is to be one. things: what they are, such as "grids".
std::string why_no_trial(const MatrixSource& source, const Environment& environment,
                         std::span<const TriedConfiguration> candidates, std::string_view things);

/// Runs some CG steps on every grid of the shortlist, in turns, and takes the verdict's candidate. The blocks of all of
/// them are in memory at once: where these are too large, or there is nothing to choose from, the first of
/// the shortlist is taken without a trial. Cost: all blocks are generated, and each grid does three to seven
/// outer iterations. Collective; the same answer on every rank. Throws RunError, MpiError.
GridTrial try_grids(comm::RankGroup& group, const GridTrialConfig& config, const GridShortlist& shortlist);

void describe(Members& m, GridTrial& trial);

}  // namespace cg2d
