// The contract of a transport on the ranks that run.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/run/check/checks.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

// All data are whole numbers below 2^53, so that every order of additions gives the same sum.

double operand_of(std::int64_t index, int round) {
  return static_cast<double>(index + std::int64_t{10'000} * (round + 1));
}

/// The part of a sum that comes from the rank of that place in its process row, or column.
double addend_of(std::int64_t index, int place, int round) {
  return static_cast<double>((place + 1) * (index + 3) + std::int64_t{7} * round);
}

double total_of(std::int64_t index, int place_count, int round) {
  double total = 0.0;
  for (int place = 0; place < place_count; ++place) total += addend_of(index, place, round);
  return total;
}

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

/// One rank's part of products, each with data of its own.
class TransportTest {
 public:
  TransportTest(comm::Communicator& communicator, const comm::BlockLayout& layout, int rank)
      : communicator_(communicator),
        mirror_(*communicator.mirror()),
        grid_(layout.grid()),
        rank_(rank),
        column_block_(layout.columns_of(rank)),
        row_block_(layout.rows_of(rank)),
        column_piece_(layout.own_piece(rank)) {}

  [[nodiscard]] std::int64_t collection(int round) {
    const auto expected = [&](std::int64_t index) { return operand_of(index, round); };
    write_values(communicator_.piece(), column_piece_, expected);
    if (round % 2 == 0) {
      communicator_.collect();
      mirror_.collect_rows();
    } else {
      auto under_way = communicator_.begin_collect();
      mirror_.collect_rows();
      under_way.finish();
    }
    return count_wrong(communicator_.column_block(), column_block_, expected) +
           count_wrong(mirror_.row_block(), row_block_, expected);
  }

  [[nodiscard]] std::int64_t sum_and_shuffle(int round) {
    const int process_column = grid_.column_of(rank_);
    write_values(communicator_.partial(), row_block_,
                 [&](std::int64_t index) { return addend_of(index, process_column, round); });
    communicator_.sum();
    communicator_.shuffle();
    const auto over_columns = [&](std::int64_t index) { return total_of(index, grid_.columns, round); };
    auto wrong = count_wrong(communicator_.result(), column_piece_, over_columns);
    const int process_row = grid_.row_of(rank_);
    write_values(mirror_.column_partial(), column_block_,
                 [&](std::int64_t index) { return addend_of(index, process_row, round); });
    mirror_.sum_columns();
    const auto over_rows = [&](std::int64_t index) { return total_of(index, grid_.rows, round); };
    wrong += count_wrong(mirror_.column_result(), column_piece_, over_rows);
    return wrong;
  }

  /// Sums of every number of scalars.
  [[nodiscard]] std::int64_t scalar_sums(int round) {
    std::int64_t wrong = 0;
    for (const auto count : comm::Communicator::scalar_counts) {
      std::vector<double> values(count);
      const comm::IndexRange all{.begin = 0, .end = static_cast<std::int64_t>(count)};
      write_values(values, all, [&](std::int64_t index) { return addend_of(index, rank_, round); });
      communicator_.sum_scalars(values);
      wrong += count_wrong(values, all,
                           [&](std::int64_t index) { return total_of(index, grid_.rank_count(), round); });
    }
    return wrong;
  }

 private:
  comm::Communicator& communicator_;
  comm::MirroredExchange& mirror_;
  comm::ProcessGrid grid_;
  int rank_;
  comm::IndexRange column_block_;
  comm::IndexRange row_block_;
  comm::IndexRange column_piece_;
};

/// Counts the elements on this rank that products and sums through a mirrored communicator get wrong. Collective.
std::int64_t wrong_element_count(comm::Communicator& communicator, const comm::BlockLayout& layout,
                                 int rank) {
  TransportTest test(communicator, layout, rank);
  std::int64_t wrong = 0;
  constexpr int round_count = 4;
  for (int round = 0; round < round_count; ++round) {
    wrong += test.collection(round);
    if (round < 2) wrong += test.scalar_sums(round);
    wrong += test.sum_and_shuffle(round);
  }
  return wrong;
}

/// Pieces of 0, 1, 2, ... elements, the last one first empty.
comm::BlockLayout uneven_pieces(const comm::ProcessGrid& grid) {
  std::vector<std::int64_t> starts{0};
  for (int piece = 0; piece < grid.rank_count(); ++piece)
    starts.push_back(starts.back() + std::int64_t{5} * (piece % 3));
  return {grid, starts};
}

void check_transports(CheckList& list) {
  const auto& plan = list.plan();
  for (const auto* row : plan.transports) {
    for (const auto& grid : plan.some_grids) {
      list.add(fmt::format("{}, {}", row->name, grid.name()),
               [&] { return check_transport(*row, grid, plan.configuration.ranks_per_node, list.group()); });
    }
  }
}

}  // namespace

CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group) {
  if (auto reason = row.why_unavailable(group); !reason.empty()) return unavailable(std::move(reason));
  constexpr std::int64_t order = 1'009;
  std::int64_t wrong = 0;
  try {
    for (const auto form : row.sum_forms) {
      for (const auto& layout : {equal_pieces(order, grid), uneven_pieces(grid)}) {
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

CheckRow transport_check() {
  return {
      .name = "transport",
      .what = "collection, summation, shuffle and sums of scalars of every transport against exact results",
      .figure = "wrong elements on the rank that has most",
      .run = check_transports};
}

}  // namespace cg2d
