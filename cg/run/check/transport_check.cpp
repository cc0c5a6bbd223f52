// The contract of a transport on the ranks that run.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

// All data are whole numbers below 2^53, so that every order of additions gives the same sum.

template <typename ValueOf>
void write_values(std::span<double> values, const comm::IndexRange& range, const ValueOf& value_of) {
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = value_of(range.begin + static_cast<std::int64_t>(k));
}

/// A length that is not that of the range makes all of it wrong.
template <typename ValueOf>
std::int64_t count_wrong(std::span<const double> values, const comm::IndexRange& range,
                         const ValueOf& value_of) {
  if (static_cast<std::int64_t>(values.size()) != range.size())
    return std::max<std::int64_t>(1, range.size());
  std::int64_t count = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!(values[k] == value_of(range.begin + static_cast<std::int64_t>(k)))) ++count;
  }
  return count;
}

/// Counts the elements on this rank that rounds of a product and of sums through a mirrored communicator get wrong, each with data of its
/// own. Collective.
std::int64_t wrong_element_count(comm::Communicator& communicator, const comm::BlockLayout& layout,
                                 int rank) {
  auto& mirror = *communicator.mirror();
  const auto& grid = layout.grid();
  const auto piece = layout.own_piece(rank);
  const auto rows = layout.rows_of(rank);
  const auto columns = layout.columns_of(rank);
  std::int64_t wrong = 0;
  constexpr int round_count = 4;
  for (int round = 0; round < round_count; ++round) {
    const auto operand = [&](std::int64_t index) {
      return static_cast<double>(index + std::int64_t{10'000} * (round + 1));
    };
    // The part of a sum that comes from the rank of that place in its process row, or column, and the sum of so many.
    const auto addend = [&](std::int64_t place) {
      return [=](std::int64_t index) {
        return static_cast<double>((place + 1) * (index + 3) + std::int64_t{7} * round);
      };
    };
    const auto total = [&](std::int64_t count) {
      return [=](std::int64_t index) {
        return static_cast<double>(count * (count + 1) / 2 * (index + 3) + std::int64_t{7} * round * count);
      };
    };
    write_values(communicator.piece(), piece, operand);
    if (round % 2 == 0) {
      communicator.collect();
      mirror.collect_rows();
    } else {
      auto under_way = communicator.begin_collect();
      mirror.collect_rows();
      under_way.finish();
    }
    wrong += count_wrong(communicator.column_block(), columns, operand);
    wrong += count_wrong(mirror.row_block(), rows, operand);
    for (const auto count : comm::Communicator::scalar_counts) {
      if (round >= 2) break;
      std::vector<double> values(count);
      const comm::IndexRange all{.begin = 0, .end = static_cast<std::int64_t>(count)};
      write_values(values, all, addend(rank));
      communicator.sum_scalars(values);
      wrong += count_wrong(values, all, total(grid.rank_count()));
    }
    write_values(communicator.partial(), rows, addend(grid.column_of(rank)));
    communicator.sum();
    communicator.shuffle();
    wrong += count_wrong(communicator.result(), piece, total(grid.columns));
    write_values(mirror.column_partial(), columns, addend(grid.row_of(rank)));
    mirror.sum_columns();
    wrong += count_wrong(mirror.column_result(), piece, total(grid.rows));
  }
  return wrong;
}

}  // namespace

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
        wrong += wrong_element_count(*communicator, layout, group.rank());
      }
    }
  } catch (const RunError& error) {  // too little memory to share, on every rank alike
    return unavailable(error.what());
  }
  return judged_over_ranks({.figure = static_cast<double>(wrong)}, 0.0, group);
}

void add_transport_checks(CheckList& list) {
  const auto& plan = list.plan();
  for (const auto* row : plan.transports) {
    for (const auto& grid : plan.some_grids) {
      list.add(fmt::format("{}, {}", row->name, grid.name()),
               [&] { return check_transport(*row, grid, plan.configuration.ranks_per_node, list.group()); });
    }
  }
}

}  // namespace cg2d
