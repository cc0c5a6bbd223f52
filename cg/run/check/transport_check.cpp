// The contract of a transport on the ranks that run.

#include <fmt/format.h>

#include <vector>

#include "cg/base/errors.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/exchange_check.hpp"

namespace cg2d {

CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group) {
  if (auto reason = row.why_unavailable(group); !reason.empty()) return unavailable(std::move(reason));
  constexpr std::int64_t order = 1'009;
  std::vector<std::int64_t> uneven{0};  // pieces of 0, 5, 10, 0, ... elements
  for (int piece = 0; piece < grid.rank_count(); ++piece)
    uneven.push_back(uneven.back() + std::int64_t{5} * (piece % 3));
  std::int64_t wrong = 0;
  try {
    for (const auto form : row.sum_forms) {
      for (const auto& layout : {equal_pieces(order, grid), comm::BlockLayout(grid, uneven)}) {
        const auto communicator = make_communicator(
            row, group, layout, {.sum_form = form, .mirrored = true, .ranks_per_node = ranks_per_node});
        comm::ExchangeCheck check(*communicator, layout, group.rank());
        for (int round = 0; round < 4; ++round) {
          wrong += round % 2 == 0 ? check.collection(round) : check.collection_in_parts(round);
          if (round < 2) {
            for (const auto count : comm::Communicator::scalar_counts)
              wrong += check.scalar_sum(count, round);
          }
          wrong += check.sum_and_shuffle(round);
        }
      }
    }
  } catch (const RunError& error) {  // too little memory to share, on every rank alike
    return unavailable(error.what());
  }
  return judged_over_ranks({.figure = static_cast<double>(wrong)}, 0.0, group);
}

void add_transport_checks(CheckList& list) {
  const auto& plan = list.plan;
  for (const auto* row : plan.transports) {
    for (const auto& grid : plan.some_grids) {
      list.add(fmt::format("{}, {}", row->name, grid.name()),
               [&] { return check_transport(*row, grid, plan.configuration.ranks_per_node, list.group); });
    }
  }
}

}  // namespace cg2d
