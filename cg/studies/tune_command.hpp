#pragma once

// `cg2d tune`: from measurements to a table and a profile.

#include "cg/studies/sweep.hpp"

namespace cg2d {

/// The options of `cg2d tune`.
struct TuneOptions {
  std::vector<Problem> problems;
  NamedGrids grids;                   ///< none: every grid of the ranks
  Configuration configuration;        ///< configuration of every case, without grid and kernel
  bool transport_is_default = false;  ///< nobody has named one: with_default_transport()
  BindMode bind = BindMode::automatic;
  int64_t memory_limit_bytes = 0;  ///< memory of a node; 0: all that is free there
  ProfileSource profile;           ///< where the result goes; unused: nowhere
  ProgressMode progress = ProgressMode::on_a_terminal;
  bool lists = false;  ///< measures nothing, prints the contents of the profile
  std::optional<std::string>
      removes;  ///< measures nothing, removes this processor or matrix from the profile
};

/// Measures, prints, and keeps the result in the profile, whose other contents stay; or lists or edits the
/// profile, which must be there. Collective; the same code on every rank. Throws RunError (on every rank alike; with code 75 for
/// measurements that were disturbed or make no sense), MpiError, std::bad_alloc.
ExitCode tune(const TuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
