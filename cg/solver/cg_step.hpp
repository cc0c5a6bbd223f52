#pragma once

// The parts of a CG step, and who sends what to whom in each of them: one list, by which the performance model, the simulation and the
// explanation go. No MPI.

#include "cg/timing/phase.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// The ranks that exchange with each other in a part of a CG step.
enum class StepGroup { none, process_column, process_row, all_ranks };

/// A part of a CG step of the classic form: the product, or an exchange. Before it the ranks hold pieces of p, or partial sums of q.
struct StepPart {
  std::string_view name;
  Phase phase{};
  StepGroup group{};
  bool is_mirrored = false;    ///< only of kernels that store half of the matrix
  std::string_view vector{};   ///< that is exchanged: "p", "q", or "p.q": a scalar
  std::string_view purpose{};  ///< one sentence
  int times = 1;               ///< in one CG step

  /// A shuffle: each rank gives one piece away, or keeps it.
  constexpr bool is_move() const { return group == StepGroup::all_ranks && phase != Phase::dot; }
  constexpr bool is_sum() const { return phase == Phase::summation || phase == Phase::dot; }
};

/// In the order of a CG step. A new one is a row.
inline constexpr std::array step_parts{
    StepPart{"collection", Phase::collection, StepGroup::process_column, false, "p",
             "The ranks of a process column give each other their pieces of p, until each has the column "
             "block."},
    StepPart{"mirrored-shuffle", Phase::collection, StepGroup::all_ranks, true, "p",
             "Half storage needs p by rows, too: each column piece of p goes to the owner of the row piece."},
    StepPart{"mirrored-collection", Phase::collection, StepGroup::process_row, true, "p",
             "The ranks of a process row give each other their row pieces of p, until each has the row "
             "block."},
    StepPart{"multiply", Phase::multiply, StepGroup::none, false, "",
             "Each rank multiplies its matrix block with the column block of p: partial sums of the row "
             "block of q."},
    StepPart{"summation", Phase::summation, StepGroup::process_row, false, "q",
             "The ranks of a process row add up their partial sums; each needs the whole sum of its row "
             "piece."},
    StepPart{"mirrored-summation", Phase::summation, StepGroup::process_column, true, "q",
             "The mirrored half makes partial sums of the column block of q: the ranks of a process column "
             "add them up."},
    StepPart{"shuffle", Phase::shuffle, StepGroup::all_ranks, false, "q",
             "Each row piece of q goes to the rank that holds the same piece of p: all vectors have the same "
             "distribution again."},
    StepPart{"dot", Phase::dot, StepGroup::all_ranks, false, "p.q",
             "All ranks add up one number each: p.q, and later in the same way the square of r.", 2},
};

/// The steps of a rank in an exchange, which is no product. A shuffle is one step among all ranks, with the pieces of the layout; a piece
/// that stays goes to the rank itself.
comm::Schedule schedule_of(const StepPart& part, const comm::BlockLayout& layout, int rank,
                           comm::SumForm form);

/// One step of such a schedule: what a rank sends and receives at the same time.
struct StepMessages {
  int to = comm::ScheduleStep::no_partner;  ///< a rank; this one where the piece stays
  int64_t sent_count = 0;                   ///< elements, as below
  int from = comm::ScheduleStep::no_partner;
  int64_t received_count = 0;
  bool is_added = false;  ///< the received elements, to what is there
};
/// Cost: of the order of the ranks of the group, or log(ranks) among all ranks.
std::vector<StepMessages> messages_of(const StepPart& part, const comm::BlockLayout& layout, int rank,
                                      comm::SumForm form);

}  // namespace cg2d
