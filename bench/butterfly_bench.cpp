// Times one collection, summation, shuffle and sum of scalars with every transport, on every grid of the
// ranks of the job, and MPI's own all-reduce for comparison. Start it with mpiexec.
//
// It does not use Google Benchmark: all ranks must make the same number of calls, so that number is fixed. A
// batch of calls is timed between a barrier and the last call's end, on the slowest rank; results are checked
// before and after.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_flags.hpp"
#include "cg/base/errors.hpp"
#include "cg/machine/environment.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"

namespace {

using cg2d::comm::BlockLayout;
using cg2d::comm::Communicator;
using cg2d::comm::Operation;
using cg2d::comm::RankGroup;
using cg2d::comm::SumForm;
using cg2d::comm::Traffic;
using cg2d::comm::TransportRow;
using Clock = std::chrono::steady_clock;

double whole(int64_t value) { return static_cast<double>(value); }

/// A communicator on data whose results are known: whole numbers, so every comparison is exact.
class CheckedCommunicator {
 public:
  CheckedCommunicator(RankGroup& group, const TransportRow& transport, const BlockLayout& layout,
                      SumForm form)
      : group_(group),
        layout_(layout),
        communicator_(cg2d::make_communicator(transport, group, layout, {.sum_form = form})) {}

  Communicator& operator*() { return *communicator_; }

  /// The communication of one product, and one sum of scalars. Collective; the same answer on every rank.
  /// Leaves zeros to sum, since repeated sums of other numbers would grow.
  bool is_right() {
    ++first_value_;  // other numbers each time, so that stale results of an earlier call are detected
    const bool here = collects() && sums_and_shuffles() && sums_scalars();
    std::fill(communicator_->partial().begin(), communicator_->partial().end(), 0.0);
    return group_.minimum(here ? 1 : 0) == 1;
  }

 private:
  // Element g of the operand is g + first_value_.
  bool collects() {
    const auto mine = layout_.own_piece(group_.rank());
    const auto block = layout_.columns_of(group_.rank());
    for (int64_t k = 0; k < mine.size(); ++k) {
      communicator_->piece()[static_cast<size_t>(k)] = whole(mine.begin + k + first_value_);
    }
    communicator_->collect();
    const auto collected = communicator_->column_block();
    bool right = true;
    for (int64_t k = 0; k < block.size(); ++k) {
      right &= collected[static_cast<size_t>(k)] == whole(block.begin + k + first_value_);
    }
    return right;
  }

  // Process column j adds (g + first_value_) (j + 1) to element g.
  bool sums_and_shuffles() {
    const auto grid = layout_.grid();
    const auto block = layout_.rows_of(group_.rank());
    const auto mine = layout_.own_piece(group_.rank());
    for (int64_t k = 0; k < block.size(); ++k) {
      communicator_->partial()[static_cast<size_t>(k)] =
          whole((block.begin + k + first_value_) * (grid.column_of(group_.rank()) + 1));
    }
    communicator_->sum();
    communicator_->shuffle();
    const int64_t factor = int64_t{grid.columns} * (grid.columns + 1) / 2;
    bool right = true;
    for (int64_t k = 0; k < mine.size(); ++k) {
      right &=
          communicator_->result()[static_cast<size_t>(k)] == whole((mine.begin + k + first_value_) * factor);
    }
    return right;
  }

  bool sums_scalars() {
    const int64_t rank_count = group_.size();
    std::array<double, 2> values{whole(group_.rank() + 1), 1.0};
    communicator_->sum_scalars(values);
    return values[0] == whole(rank_count * (rank_count + 1) / 2) && values[1] == whole(rank_count);
  }

  RankGroup& group_;
  const BlockLayout& layout_;
  std::unique_ptr<Communicator> communicator_;
  int64_t first_value_ = 0;
};

/// The numbers of calls.
struct Counts {
  int calls = 0;           // in a batch
  int blocking_calls = 0;  // calls of MPI's blocking all-reduce in a batch
  int batches = 0;
};

/// One line of the table.
struct Line {
  std::string class_name;
  std::string grid;
  std::string transport;
  std::string operation;
};

class Table {
 public:
  Table(RankGroup& group, const Counts& counts) : group_(group), counts_(counts) {}

  void print_head(const cg2d::Environment& environment) const {
    if (group_.rank() != 0) return;
    const auto& node = environment.nodes.front();
    fmt::print(
        "# {} ranks on {} node(s), {} cores on the first ({}); waiting ranks {}\n"
        "# microseconds per call of the slowest rank, over {} batches of {} calls ({} blocking calls); "
        "messages "
        "and bytes: the most that one rank sends per call\n"
        "{:<5} {:>7} {:<16} {:<22} {:>9} {:>10} {:>12} {:>12} {:>12}\n",
        group_.size(), environment.nodes.size(), node.core_count, node.processor,
        environment.ranks_oversubscribed ? "yield" : "spin", counts_.batches, counts_.calls,
        counts_.blocking_calls, "class", "grid", "transport", "operation", "messages", "bytes", "minimum",
        "median", "maximum");
  }

  /// Times `call` and prints a line. Collective.
  template <typename Call>
  void time(const Line& line, const Traffic& traffic, int calls, const Call& call) {
    std::vector<double> microseconds;
    for (int batch = 0; batch < counts_.batches; ++batch) {
      group_.barrier();
      const auto start = Clock::now();
      for (int k = 0; k < calls; ++k) call();
      const std::chrono::duration<double, std::micro> took = Clock::now() - start;
      microseconds.push_back(group_.maximum(took.count()) / calls);
    }
    std::sort(microseconds.begin(), microseconds.end());
    const auto messages = group_.maximum(traffic.message_count);
    const auto bytes = group_.maximum(traffic.byte_count);
    if (group_.rank() != 0) return;
    fmt::print("{:<5} {:>7} {:<16} {:<22} {:>9} {:>10} {:>12.3f} {:>12.3f} {:>12.3f}\n", line.class_name,
               line.grid, line.transport, line.operation, messages, bytes, microseconds.front(),
               microseconds[(microseconds.size() - 1) / 2], microseconds.back());
    std::fflush(stdout);
  }

  /// Times an operation of a communicator, with the messages that the communicator counted.
  template <typename Call>
  void time_operation(const Line& line, Communicator& communicator, Operation operation, const Call& call) {
    const auto before = communicator.sent(operation);
    call();
    const auto after = communicator.sent(operation);
    time(line,
         {.message_count = after.message_count - before.message_count,
          .byte_count = after.byte_count - before.byte_count},
         counts_.calls, call);
  }

  const Counts& counts() const { return counts_; }

 private:
  RankGroup& group_;
  Counts counts_;
};

void time_grid(Table& table, RankGroup& group, const TransportRow& transport, const cg2d::Problem& problem,
               const cg2d::comm::ProcessGrid& grid) {
  const auto layout = BlockLayout::even(problem.n, grid);
  const auto wrong = [&] {
    return cg2d::RunError(cg2d::ExitCode::internal,
                          fmt::format("wrong result: class {}, grid {}, transport {}", problem.class_name,
                                      grid.name(), transport.name));
  };
  for (const auto form : transport.sum_forms) {
    CheckedCommunicator checked(group, transport, layout, form);
    auto& communicator = *checked;
    const auto line = [&](std::string_view operation) {
      return Line{.class_name = problem.class_name,
                  .grid = grid.name(),
                  .transport = std::string(transport.name),
                  .operation = std::string(operation)};
    };
    if (!checked.is_right()) throw wrong();
    if (form == SumForm::reduce_scatter) {
      table.time_operation(line("collect"), communicator, Operation::collect,
                           [&] { communicator.collect(); });
      table.time_operation(line("sum, reduce-scatter"), communicator, Operation::sum,
                           [&] { communicator.sum(); });
      table.time_operation(line("shuffle"), communicator, Operation::shuffle,
                           [&] { communicator.shuffle(); });
      std::array<double, 1> value{0.0};
      table.time_operation(line("sum_scalars"), communicator, Operation::dot,
                           [&] { communicator.sum_scalars(value); });
    } else {
      table.time_operation(line("sum, whole-block"), communicator, Operation::sum,
                           [&] { communicator.sum(); });
    }
    if (!checked.is_right()) throw wrong();
  }
}

/// MPI's own all-reduce of 8 bytes: blocking, and nonblocking with the waiting of this program.
void time_mpi(Table& table, RankGroup& group) {
  const auto line = [](std::string_view operation) {
    return Line{.class_name = "-", .grid = "-", .transport = "MPI", .operation = std::string(operation)};
  };
  int64_t sum = 0;
  table.time(line("Iallreduce, polled"), {}, table.counts().calls, [&] { sum = group.sum(1); });
  double values = 0.0;
  table.time(line("Allreduce, blocking"), {}, table.counts().blocking_calls, [&] {
    const double one = 1.0;
    cg2d::comm::check(MPI_Allreduce(&one, &values, 1, MPI_DOUBLE, MPI_SUM, group.handle()), "MPI_Allreduce");
  });
  if (sum != group.size() || values != whole(group.size())) {
    throw cg2d::RunError(cg2d::ExitCode::internal, "wrong result: MPI's all-reduce");
  }
}

void run(int argument_count, char** arguments, RankGroup& group) {
  const auto environment = cg2d::inspect_environment(group, 1);
  const bool crowded = environment.ranks_oversubscribed;
  group.waiter().set_mode(crowded ? cg2d::comm::WaitMode::yield : cg2d::comm::WaitMode::spin);

  cg2d::bench::Flags flags(argument_count, arguments);
  const auto problems = flags.take_classes("A");
  Counts counts;
  counts.calls = flags.take_count("calls", crowded ? 100 : 2000);
  // Where ranks outnumber cores a single blocking call takes many milliseconds.
  counts.blocking_calls = crowded ? std::min(counts.calls, 2) : counts.calls;
  counts.batches = flags.take_count("batches", 9);
  flags.require_nothing_left();

  Table table(group, counts);
  table.print_head(environment);
  for (const auto& problem : problems) {
    for (const auto& grid : cg2d::comm::factorizations(group.size())) {
      for (const auto& transport : cg2d::comm::transport_table()) {
        if (transport.why_unavailable(group).empty()) time_grid(table, group, transport, problem, grid);
      }
    }
  }
  time_mpi(table, group);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession session(argument_count, arguments);
  RankGroup group(MPI_COMM_WORLD);
  try {
    run(argument_count, arguments, group);
  } catch (const cg2d::RunError& error) {  // the same on every rank
    if (group.rank() == 0) fmt::print(stderr, "butterfly_bench: {}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
