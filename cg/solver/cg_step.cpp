#include "cg/solver/cg_step.hpp"

namespace cg2d {

comm::Schedule schedule_of(const StepPart& part, const comm::BlockLayout& layout, int rank,
                           comm::SumForm form) {
  if (part.phase == Phase::dot) return comm::all_reduce_schedule(layout.grid().rank_count(), rank);
  if (part.is_move()) {
    comm::ScheduleStep step{.send_to = layout.shuffle_destination(rank),
                            .sent = {.first = layout.row_piece_of(rank), .count = 1},
                            .receive_from = layout.shuffle_source(rank),
                            .received = {.first = layout.column_piece_of(rank), .count = 1}};
    if (part.is_mirrored) {  // the shuffle backwards
      std::swap(step.send_to, step.receive_from);
      std::swap(step.sent, step.received);
    }
    return {.steps = {step}};
  }
  const auto over =
      part.group == StepGroup::process_row ? comm::Line::process_row : comm::Line::process_column;
  return part.is_sum() ? comm::summation_schedule(layout, rank, form, over)
                       : comm::collection_schedule(layout, rank, over);
}

std::vector<StepMessages> messages_of(const StepPart& part, const comm::BlockLayout& layout, int rank,
                                      comm::SumForm form) {
  const auto grid = layout.grid();
  const int row = grid.row_of(rank);
  const int column = grid.column_of(rank);
  const bool is_row = part.group == StepGroup::process_row;
  const bool is_column = part.group == StepGroup::process_column;
  // Among all ranks without GroupPieces, which take as long as there are ranks: the model has up to a million.
  const comm::GroupPieces pieces(layout, is_row ? row * grid.columns : column * grid.rows,
                                 is_row ? grid.columns : (is_column ? grid.rows : 0));
  const auto count_of = [&](int partner, const comm::PieceRun& run) -> int64_t {
    if (partner == comm::ScheduleStep::no_partner) return 0;
    if (part.phase == Phase::dot) return 1;
    return part.is_move() ? layout.piece(run.first).size() : pieces.element_count(run);
  };
  const auto rank_of = [&](int partner) {
    if (partner == comm::ScheduleStep::no_partner || part.group == StepGroup::all_ranks) return partner;
    return is_row ? grid.rank_at(row, partner) : grid.rank_at(partner, column);
  };
  std::vector<StepMessages> messages;
  for (const auto& step : schedule_of(part, layout, rank, form).steps)
    messages.push_back({.to = rank_of(step.send_to),
                        .sent_count = count_of(step.send_to, step.sent),
                        .from = rank_of(step.receive_from),
                        .received_count = count_of(step.receive_from, step.received),
                        .is_added = step.combine == comm::Combine::add});
  return messages;
}

}  // namespace cg2d
