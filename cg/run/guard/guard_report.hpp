#pragma once

// The report of a guard: its options, checks, detections and faults.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/run/guard/faults.hpp"

namespace cg2d {

/// The checks of a guard, in the order in which an outer iteration comes to them.
enum class GuardCheck {
  column_range,   ///< the stored column numbers, before the first product of an outer iteration
  block_product,  ///< the checksum of each product of a rank's block
  step_relation,  ///< alpha^2 ||q||^2 / rho = 1 + beta in each CG step
  residual,       ///< ||(x - A z) - r|| at the end of a solve
  matrix_bytes,   ///< CRC-32C of the block
};
inline constexpr std::array guard_checks{NamedValue<GuardCheck>{"column-range", GuardCheck::column_range},
                                         NamedValue<GuardCheck>{"block-product", GuardCheck::block_product},
                                         NamedValue<GuardCheck>{"step-relation", GuardCheck::step_relation},
                                         NamedValue<GuardCheck>{"residual", GuardCheck::residual},
                                         NamedValue<GuardCheck>{"matrix-bytes", GuardCheck::matrix_bytes}};
inline constexpr std::size_t guard_check_count = guard_checks.size();
inline std::span<const NamedValue<GuardCheck>> words_of(GuardCheck /*check*/) { return guard_checks; }
inline std::string_view name_of(GuardCheck check) { return name_in(words_of(check), check); }

/// The first error that a rank finds in an attempt at an outer iteration. Trivially copyable: ranks send it as it is.
struct Detection {
  bool is_found = false;
  GuardCheck check = GuardCheck::column_range;
  SolvePlace place{};  ///< the last product before it
  double error = 0.0;
  double tolerance = 0.0;
  double share = 0.0;  ///< share of this rank in an error that ranks add up
};
/// Rank, check and place, in one line without its end.
std::string describe(const Detection& detection);

struct GuardOptions {
  bool checks = false;
  std::optional<InjectOptions> inject{};

  [[nodiscard]] bool is_used() const { return checks || inject; }
};

/// The checks of one rank, or of all. Trivially copyable: ranks send it as it is.
struct CheckFigures {
  std::array<std::int64_t, guard_check_count> check_counts{};
  /// error / tolerance where it held; 0 for yes or no.
  std::array<double, guard_check_count> largest_ratios{};
  double time_s = 0.0;  ///< time of checks in timed repetitions, or in the solve, of the slowest rank
};

/// The report of a guard; the same on every rank.
struct GuardReport : CheckFigures {
  GuardOptions options;
  std::vector<Detection> detections;  ///< the first one of each attempt with some
  int rollback_count = 0;
  double time_share = 0.0;  ///< share of time_s in the time of these repetitions, or of the solve
  std::vector<Fault> faults;
};
/// A blank line, then faults, checks and detections, a line for each; empty without a guard.
std::string text_of(const GuardReport& guard);

}  // namespace cg2d
