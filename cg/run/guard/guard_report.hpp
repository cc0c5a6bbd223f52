#pragma once

// The report of a guard: its options, checks, detections, and faults on purpose: bits that flip at random, the same ones for the same seed and
// number of ranks.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/values.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// The arrays and numbers whose bits flip.
enum class FaultTarget {
  values,         ///< elements of the matrix, in the kernel's format
  columns,        ///< its column numbers
  p,              ///< the operand, before it is collected
  r,              ///< the residual, before a product
  z,              ///< the solution of an outer iteration, before a product
  block_product,  ///< the product of the rank's block, before it is sent
  q,              ///< the rank's piece of A p
  rho,            ///< r . r of one rank, when it has been summed
  x,              ///< in place of z, of a solve: the last one
};
inline constexpr auto fault_targets =
    std::to_array<NamedValue<FaultTarget>>({{"A", FaultTarget::values},
                                            {"columns", FaultTarget::columns},
                                            {"p", FaultTarget::p},
                                            {"r", FaultTarget::r},
                                            {"z", FaultTarget::z},
                                            {"block q", FaultTarget::block_product},
                                            {"q", FaultTarget::q},
                                            {"rho", FaultTarget::rho},
                                            {"x", FaultTarget::x}});
inline std::span<const NamedValue<FaultTarget>> words_of(FaultTarget /*target*/) { return fault_targets; }

/// --inject
struct InjectOptions {
  uint64_t seed = 0;
  int count = 1;
};
/// "SEED" or "SEED:COUNT". Throws InputError.
InjectOptions inject_options_from(const std::string& text);

/// In place of the number of an outer iteration: `cg2d solve` has none.
inline constexpr int of_a_solve = -1;
/// The place of a computation. Trivially copyable: ranks send it as it is.
struct SolvePlace {
  int rank = 0;
  int outer_step = 0;  ///< from 1; 0: the untimed one; or of_a_solve
  int product = 0;     ///< of it, from 1: CG step, or one more for the residual; of a solve: iteration

  friend bool operator==(const SolvePlace&, const SolvePlace&) = default;
};
/// "rank 0, outer iteration 2, product 7", or "rank 0, iteration 7".
std::string describe(const SolvePlace& place);

/// One flip. Trivially copyable: ranks send it as it is.
struct Fault {
  SolvePlace place{};
  FaultTarget target = FaultTarget::values;
  uint64_t draw = 0;  ///< element and bit follow from it
  // When it has been made:
  bool is_made = false;
  int64_t element = 0;
  int bit = 0;
};
/// One line without its end.
std::string describe(const Fault& fault);

/// The flips of a seed, in the order of their times: in so many products of each outer iteration. Of a solve, which is of_a_solve in place of
/// the number of outer iterations, most are in early iterations, as many solves have few, and none after so many.
std::vector<Fault> draw_faults(const InjectOptions& options, int rank_count, int outer_step_count,
                               int product_count);

/// Makes those of the faults that are due: of that target, at that place, and not made before: what an outer iteration that is made again
/// meets is what a fault has left behind. Flips a bit of the arrays of the target's kind, taken as one; where they are not sound afterwards,
/// another bit of the element in its place, or none.
void make_faults(
    std::span<Fault> faults, FaultTarget target, const SolvePlace& at,
    const std::vector<kernels::StoredArray>& arrays,
    const std::function<bool()>& is_sound = [] { return true; });

/// The checks of a guard, in the order in which an outer iteration comes to them.
enum class GuardCheck {
  column_range,   ///< the stored column numbers, before the first product of an outer iteration
  block_product,  ///< the checksum of each product of a rank's block
  step_relation,  ///< alpha^2 ||q||^2 / rho = 1 + beta in each CG step
  residual,       ///< ||(x - A z) - r|| at the end of a solve
  matrix_bytes,   ///< CRC-32C of the block
};
inline constexpr auto guard_checks =
    std::to_array<NamedValue<GuardCheck>>({{"column-range", GuardCheck::column_range},
                                           {"block-product", GuardCheck::block_product},
                                           {"step-relation", GuardCheck::step_relation},
                                           {"residual", GuardCheck::residual},
                                           {"matrix-bytes", GuardCheck::matrix_bytes}});
inline constexpr size_t guard_check_count = guard_checks.size();
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
std::string describe(const Detection& found);

struct GuardOptions {
  bool checks = false;
  std::optional<InjectOptions> inject{};

  bool is_used() const { return checks || inject; }
};

/// The checks of one rank, or of all. Trivially copyable: ranks send it as it is.
struct CheckFigures {
  std::array<int64_t, guard_check_count> check_counts{};
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
