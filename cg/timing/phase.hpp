#pragma once

// The phases of one CG step: one table that timers, limits, reports and traces read. First those of the benchmark,
// as the paper takes a step apart (Itakura et al. 1998); then those of operators that apply another kind of
// matrix. A new phase is a value of Phase, its row here, and the code that opens its scope.

#include <algorithm>
#include <optional>

#include "cg/base/interface.hpp"
#include "comm/communicator.hpp"

namespace cg2d {

enum class Phase {
  collection,      ///< gathers the column block of p over the process column
  multiply,        ///< multiplies this rank's block by its column block of p
  summation,       ///< adds the partial sums of a row block over the process row
  shuffle,         ///< moves each piece of q from its row owner to its column owner
  dot,             ///< dot products, with their sums over all ranks
  vector_updates,  ///< all other operations on vectors
  halo,            ///< exchanges the points that stencils read of other ranks
  interior,        ///< applies a stencil to the points that need no other rank's
  boundary,        ///< applies a stencil to all other points
};

/// The arithmetic of a phase, which it does beside sending and receiving. Products are bounded by the rate at which matrices are read, all
/// else by that of vectors.
enum class LocalWork {
  none,            ///< it only moves data
  product,         ///< this rank's block times its part of the operand
  stencil,         ///< a stencil on this rank's points, or a part of them
  additions,       ///< additions of the elements that arrive
  dot_products,    ///< as VectorOps counts them
  vector_updates,  ///< vector updates, as VectorOps counts them
};

struct PhaseRow {
  Phase phase;
  std::string_view name;  ///< as the paper has it, where it has one; key in every report
  /// The communicator's operation, where the phase consists of one.
  std::optional<comm::Operation> operation;
  LocalWork work;
  bool is_of_benchmark = true;  ///< a step of the benchmark has it, and so every report of a run

  constexpr bool communicates() const { return operation.has_value(); }
};

// clang-format off
inline constexpr std::array phase_rows{
    PhaseRow{Phase::collection, "collection", comm::Operation::collect, LocalWork::none},
    PhaseRow{Phase::multiply, "multiply", std::nullopt, LocalWork::product},
    PhaseRow{Phase::summation, "summation", comm::Operation::sum, LocalWork::additions},
    PhaseRow{Phase::shuffle, "shuffle", comm::Operation::shuffle, LocalWork::none},
    PhaseRow{Phase::dot, "dot", comm::Operation::dot, LocalWork::dot_products},
    PhaseRow{Phase::vector_updates, "vector_updates", std::nullopt, LocalWork::vector_updates},
    PhaseRow{Phase::halo, "halo", comm::Operation::halo, LocalWork::none, false},
    PhaseRow{Phase::interior, "interior", std::nullopt, LocalWork::stencil, false},
    PhaseRow{Phase::boundary, "boundary", std::nullopt, LocalWork::stencil, false},
};
// clang-format on

inline constexpr size_t phase_count = phase_rows.size();
/// The number of phases of the benchmark, which are the first of the table: reports of runs have these.
inline constexpr auto benchmark_phase_count =
    static_cast<size_t>(std::ranges::count_if(phase_rows, &PhaseRow::is_of_benchmark));

/// All phases, in the order of their values.
constexpr const std::array<PhaseRow, phase_count>& phase_table() { return phase_rows; }
constexpr size_t index_of(Phase phase) { return static_cast<size_t>(phase); }
constexpr const PhaseRow& phase_row(Phase phase) { return phase_table()[index_of(phase)]; }

/// The phases of the benchmark, in the order of the table.
inline constexpr auto benchmark_phases = [] {
  std::array<Phase, benchmark_phase_count> phases{};
  for (size_t index = 0; index < benchmark_phase_count; ++index) phases[index] = phase_rows[index].phase;
  return phases;
}();

static_assert(std::ranges::adjacent_find(phase_rows, std::ranges::greater_equal(), &PhaseRow::phase) ==
                      phase_rows.end() &&
                  index_of(phase_rows.back().phase) == phase_count - 1,
              "a row of the phase table stands at the place of another phase");
static_assert(std::ranges::is_partitioned(phase_rows, &PhaseRow::is_of_benchmark),
              "the phases of the benchmark are the first of the table");

constexpr std::string_view phase_name(Phase phase) { return phase_row(phase).name; }
/// The phase of that index, for loops over all of them.
constexpr Phase phase_at(size_t index) { return phase_table()[index].phase; }
/// The communicator's operation that a phase consists of, if any.
constexpr std::optional<comm::Operation> operation_of(Phase phase) { return phase_row(phase).operation; }

/// Called by the PhaseTimer that it is attached to, on the thread that times.
class PhaseObserver : public Interface {
 public:
  /// One phase has ended; begin and end in reference clocks. Time spent here belongs to no phase.
  virtual void after_phase(Phase phase, uint64_t begin_clocks, uint64_t end_clocks) = 0;
};

}  // namespace cg2d
