#pragma once

// The configuration of a result: what it was measured with.

#include <string>

#include "cg/solver/configuration.hpp"
#include "comm/block_layout.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// What is measured: one cell of one table.
struct SweepConfiguration {
  std::string problem;  ///< as problem_name() has it
  comm::ProcessGrid grid;
  std::string kernel;  ///< as it was asked for: a name, or "auto"
  std::string transport;
  int thread_count = 1;
  comm::SumForm sum_form = default_sum_form;
  bool overlaps = false;

  /// The unique text of the configuration: "A 2x4 auto two-sided 1 thread". The form of the sum and the
  /// overlap are in it where they are not the default.
  [[nodiscard]] std::string key() const;
  friend bool operator==(const SweepConfiguration&, const SweepConfiguration&) = default;
};

}  // namespace cg2d
