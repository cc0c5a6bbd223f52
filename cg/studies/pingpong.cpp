#include "cg/studies/pingpong.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <memory>

#include "cg/base/output_file.hpp"
#include "cg/base/table.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/shown_figures.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/node_map.hpp"
#include "comm/pingpong.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {
namespace {

// Rounds of all methods, and of all transports; a turn is long enough for a clock and for the barrier before it.
constexpr RaceLimits race_limits{.fewest_rounds = 7,
                                 .most_rounds = 25,
                                 .budget_s = 0.3,
                                 .hopeless_factor = std::numeric_limits<double>::infinity(),
                                 .shortest_turn_s = 1e-3};

/// A rank's words differ from its partner's, from one transfer to the next and from word to
/// word.
uint64_t pattern_word(uint64_t transfer, int sender, size_t place) {
  constexpr uint64_t odd = 0x9E3779B97F4A7C15ULL;
  return (transfer * 2 + static_cast<uint64_t>(sender)) * odd + place * (odd >> 2U);
}

comm::VariableShape variable_shape(int variable_count, int64_t byte_count) {
  return {.count = static_cast<size_t>(variable_count), .byte_count = static_cast<size_t>(byte_count)};
}

comm::VariableShape largest_shape(const TransferOptions& transfers) {
  return variable_shape(std::ranges::max(transfers.variable_counts), std::ranges::max(transfers.byte_counts));
}

/// One method of a PingPong, with checks.
struct CheckedTransfers {
  std::shared_ptr<comm::PingPong> memory;  ///< of all methods of a row
  size_t index = 0;
  std::string_view name;
  int rank = 0;
  uint64_t transfer = 0;
  bool is_right = true;

  /// There and back: the first bytes of each variable, or all, change with each transfer and are compared.
  void round_trip(const comm::VariableShape& shape, size_t compared_bytes = sizeof(uint64_t)) {
    ++transfer;
    const auto send = [&] {
      const auto outgoing = memory->outgoing(index);
      for_every_word(shape, compared_bytes, rank, [&](auto place, auto size, const auto& word) {
        std::memcpy(outgoing.data() + place, &word, size);
      });
      memory->send(index, shape);
    };
    if (rank == 0) send();
    memory->receive(index, shape);
    const auto incoming = memory->incoming(index);
    for_every_word(shape, compared_bytes, 1 - rank, [&](auto place, auto size, const auto& word) {
      is_right = is_right && std::memcmp(incoming.data() + place, &word, size) == 0;
    });
    if (rank != 0) send();
  }

  /// visit(place, number of bytes, word of the sender) for each word of all variables; the last one of a variable may be shorter.
  template <typename Visit>
  void for_every_word(const comm::VariableShape& shape, size_t byte_count, int sender,
                      const Visit& visit) const {
    const auto end = std::min(byte_count, shape.byte_count);
    for (size_t variable = 0; variable < shape.count; ++variable) {
      for (size_t begin = 0; begin < end; begin += sizeof(uint64_t)) {
        const auto place = shape.offset(variable) + begin;
        visit(place, std::min(end - begin, sizeof(uint64_t)), pattern_word(transfer, sender, place));
      }
    }
  }
};

bool is_wanted(const TransferOptions& transfers, const comm::PingPongMethod& method) {
  return std::ranges::find(transfers.methods, method.name) != transfers.methods.end();
}

/// The methods that are wanted and can serve the two ranks of a pair; the others go to the result's `left_out`, with their reasons.
std::vector<CheckedTransfers> methods_between(comm::RankGroup& pair, const TransferOptions& transfers,
                                              bool share_a_core, PairResult& result) {
  std::vector<CheckedTransfers> methods;
  for (const auto& row : comm::pingpong_table()) {
    const auto unavailable = row.shares_memory && !result.same_node
                                 ? std::string("the two ranks are on different nodes")
                                 : row.why_unavailable(pair);
    std::shared_ptr<comm::PingPong> memory;
    for (size_t k = 0; k < row.methods.size(); ++k) {
      const auto& method = row.methods[k];
      if (!is_wanted(transfers, method)) continue;
      if (!unavailable.empty()) {
        result.left_out.emplace_back(method.name, unavailable);
      } else if (method.blocks && share_a_core) {
        result.left_out.emplace_back(method.name,
                                     "the two ranks share a core, and this method keeps it while it waits");
      } else {
        try {
          if (memory == nullptr) memory = row.make(pair, largest_shape(transfers));
        } catch (const comm::SharedMemoryError& error) {  // on both ranks alike
          throw RunError(ExitCode::memory, "{}; take smaller --sizes", error.what());
        }
        methods.push_back({.memory = memory, .index = k, .name = method.name, .rank = pair.rank()});
      }
    }
  }
  return methods;
}

/// Times all methods in turns. Collective over the pair.
void race_methods(comm::RankGroup& pair, const comm::VariableShape& shape,
                  std::vector<CheckedTransfers>& methods, PairResult& result) {
  std::vector<std::function<void()>> works;
  for (auto& method : methods) {
    method.round_trip(shape, shape.byte_count);
    pair.barrier();  // before another method waits without MPI
    works.emplace_back([&method, shape] { method.round_trip(shape); });
  }
  const auto require_right = [&] {
    agree_on(pair, [&] {
      const auto wrong = std::ranges::find(methods, false, &CheckedTransfers::is_right);
      if (wrong != methods.end())
        throw RunError(ExitCode::internal, "pingpong: {} of {} x {} bytes brought wrong data", wrong->name,
                       shape.count, shape.byte_count);
    });
  };
  require_right();
  auto turns = race(pair, works, race_limits).turns;
  require_right();
  for (size_t k = 0; k < methods.size(); ++k) {
    for (double& seconds : turns[k]) seconds /= 2.0 * static_cast<double>(shape.count);
    result.times.push_back({.method = std::string(methods[k].name),
                            .variable_count = static_cast<int>(shape.count),
                            .byte_count = static_cast<int64_t>(shape.byte_count),
                            .seconds = sample_of(std::move(turns[k]))});
  }
}

/// Memory of a rank of a pair for the transfers, bytes, beside its process.
int64_t transfer_bytes(const TransferOptions& transfers) {
  // To write, to read, and a part of a window or of a segment.
  constexpr int64_t buffers = 3;
  const auto rows = std::ranges::count_if(comm::pingpong_table(), [&](const comm::PingPongRow& row) {
    return std::ranges::any_of(row.methods, [&](const auto& method) { return is_wanted(transfers, method); });
  });
  return saturated(static_cast<double>(buffers * rows) *
                   static_cast<double>(largest_shape(transfers).memory_byte_count()));
}

/// The phases of the benchmark that communicate; what a phase of a grid without partners takes is measured, too.
std::vector<Phase> communication_phases() {
  std::vector<Phase> phases;
  std::ranges::copy_if(benchmark_phases, std::back_inserter(phases),
                       [](Phase phase) { return operation_of(phase).has_value(); });
  return phases;
}

/// All transports in turns, phase by phase, at the sizes of the problem on the configuration's grid.
/// Collective, all ranks work. The times of one call, by communication_phases(), of each transport. Throws as time_operations().
Named<std::vector<Sample>> measure_phases(comm::RankGroup& group, const UsableTransports& transports,
                                          const Problem& problem, const Configuration& configuration) {
  const auto layout = make_layout(facts_of(problem), configuration);
  Named<std::vector<Sample>> phases;
  for (const auto* transport : transports.available)
    phases.emplace_back(transport->name, std::vector<Sample>());
  for (const auto phase : communication_phases()) {
    std::vector<TimedOperation> timed;
    for (const auto* transport : transports.available)
      timed.push_back({.transport = *transport,
                       .operation = *operation_of(phase),
                       .layout = layout,
                       .options = communicator_options(configuration, false)});
    const auto samples = time_operations(group, timed, race_limits);
    for (size_t k = 0; k < samples.size(); ++k) phases[k].second.push_back(samples[k]);
  }
  return phases;
}

constexpr double in_microseconds = 1e6;
constexpr double gigabyte = 1e9;

// ---------------------------------------------------------------- text

std::string left_out_lines(const Named<std::string>& left_out) {
  std::string text;
  for (const auto& [name, reason] : left_out) text += fmt::format(" without {}: {}\n", name, reason);
  return text;
}

/// The latency of each method, for each size and number of variables that was measured, and the lines through them.
std::string pair_text(PairResult pair) {
  auto text =
      fmt::format("\n Ranks {} and {}, {}: half a round trip over the number of its messages\n",
                  pair.ranks[0], pair.ranks[1], pair.same_node ? "on one node" : "on different nodes");
  text += left_out_lines(pair.left_out);
  if (pair.times.empty()) return text;
  const auto first_method = pair.times.front().method;
  std::ranges::stable_sort(pair.times, {}, &TransferTime::variable_count);
  Table table;
  for (const auto& time : pair.times) {
    if (time.method == first_method)
      table.line().number("messages", "{}", time.variable_count).number("bytes", "{}", time.byte_count);
    table.number(time.method, "{:.3f}", in_microseconds * time.seconds.median);
  }
  text += "\n Latency per message, us; messages per synchronization, bytes of a message\n" + table.text();
  const auto lines = pair.lines();
  if (!lines.empty()) text += "\n Linear fit: latency + size / bandwidth, one message per synchronization\n";
  for (const auto& [method, line] : lines) {
    const auto rate = line.slope > 0.0 ? fmt::format("size / {:.3f} GB/s", 1.0 / line.slope / gigabyte)
                                       : std::string("size / (not measurable)");
    text += fmt::format(" {:>13} = {:.3f} us + {}\n", method, in_microseconds * line.intercept, rate);
  }
  return text;
}

std::string sums_text(const PingPongReport& report) {
  Table table;
  for (const auto& sum : report.sums) {
    table.line().word("method", sum.way).number("us", "{:.3f}", in_microseconds * sum.seconds.median);
    table.number("spread", percent_text(sum.seconds.spread(), 0));
  }
  return fmt::format("\n Dot product of {}: the sum of 8 bytes, microseconds\n{}",
                     format_count(report.rank_count, "rank"), table.text()) +
         left_out_lines(report.sums_left_out);
}

std::string phases_text(const PingPongReport& report) {
  Table table;
  for (const auto& [transport, times] : report.phases) {
    table.line().word("transport", transport);
    auto seconds = times.begin();
    for (const auto phase : communication_phases())
      table.number(phase_name(phase), "{:.3f}", in_microseconds * (seconds++)->median);
  }
  return fmt::format("\n Class {}, grid {}: microseconds of one isolated call\n{}", report.problem.class_name,
                     report.configuration.grid.name(), table.text()) +
         left_out_lines(report.transports_left_out);
}

// ---------------------------------------------------------------- JSON

void describe_left_out(Members& m, std::string_view name, Named<std::string>& left_out) {
  m.list(name, left_out, {}, [&](auto& one, size_t /*index*/) {
    m("name", one.first, not_empty());
    m("reason", one.second, not_empty());
  });
}

void require_ranks_for(const PingPongOptions& options, int rank_count) {
  if (rank_count < 2)
    throw InputError("pingpong goes between two ranks: start it on at least 2, by mpiexec -n 2");
  for (const auto& pair : options.pairs) {
    const int larger = std::ranges::max(pair);
    if (larger >= rank_count)
      throw InputError("--pairs {}:{}: there is no rank {}; the {} are 0 ... {}", pair[0], pair[1], larger,
                       format_count(rank_count, "rank"), rank_count - 1);
  }
  if (options.configuration.has_grid()) require_grid_of(options.configuration.grid, rank_count);
}

/// Throws RunError where the memory of a node does not suffice: for the transfers of a pair, or for the vectors of all transports.
/// Collective.
void require_memory(const PingPongOptions& options, const Configuration& configuration,
                    const Environment& environment, comm::RankGroup& group) {
  const auto facts = facts_of(options.problem);
  const auto layout = make_layout(facts, configuration);
  agree_on(group, [&] {
    const auto bytes_of_rank = [&](int rank) {
      const auto vector_bytes = plan_memory(facts, 0, configuration, layout, rank).vector_bytes;
      const bool is_in_pair = std::ranges::any_of(
          options.pairs, [&](const auto& pair) { return std::ranges::count(pair, rank) > 0; });
      return std::max(2 * vector_bytes * std::ssize(comm::transport_table()),
                      is_in_pair ? transfer_bytes(options.transfers) : 0);
    };
    check_memory(environment, bytes_of_rank, "take smaller --sizes, fewer --variables or a smaller --class");
  });
}

}  // namespace

Named<Line> PairResult::lines() const {
  Named<Line> fitted;
  for (const auto& method : pingpong_method_names()) {
    std::vector<LinePoint> points;
    for (const auto& time : times) {
      if (time.method == method && time.variable_count == 1)
        points.push_back({.x = static_cast<double>(time.byte_count), .y = time.seconds.median});
    }
    if (points.size() > 1) fitted.emplace_back(method, fit_line(points));
  }
  return fitted;
}

std::vector<std::string> pingpong_method_names() {
  std::vector<std::string> names;
  for (const auto& row : comm::pingpong_table()) {
    for (const auto& method : row.methods) names.emplace_back(method.name);
  }
  return names;
}

PairResult measure_pair(comm::RankGroup& group, const RankPair& pair, const TransferOptions& transfers,
                        const Configuration& configuration) {
  const auto nodes = comm::make_node_map(group, configuration.ranks_per_node);
  const int first = pair[0];
  const int second = pair[1];
  std::string found;  // as JSON
  agree_on_part(group, [&] {
    if (group.rank() != first && group.rank() != second) return;
    comm::RankGroup both(group.part({first, second}));
    const bool share_a_core = inspect_environment(both, 1).ranks_oversubscribed;
    both.waiter().set_mode(share_a_core ? comm::WaitMode::yield : comm::WaitMode::spin);
    PairResult mine{.ranks = pair, .same_node = nodes.node_of(first) == nodes.node_of(second)};
    auto methods = methods_between(both, transfers, share_a_core, mine);
    for (const auto byte_count : transfers.byte_counts) {
      for (const int variable_count : transfers.variable_counts)
        race_methods(both, variable_shape(variable_count, byte_count), methods, mine);
    }
    if (group.rank() == first) found = json_line(mine);
  });
  return from_json_line<PairResult>(group.gather_all(found).at(static_cast<size_t>(first))).value();
}

void describe(Members& m, TransferTime& time) {
  m("method", time.method, not_empty());
  m("variables", time.variable_count, at_least(1));
  m("bytes", time.byte_count, at_least(1, "Of one variable."));
  m("seconds_per_variable", time.seconds, meaning("Half a round trip over the number of its variables."));
  m.derived("bytes_per_s", time.bytes_per_s(), positive());
}

void describe(Members& m, PairResult& pair) {
  m("ranks", pair.ranks, at_least(0));
  m("same_node", pair.same_node);
  m("transfers", pair.times);
  m.list("lines", pair.lines(), meaning("Transfers of one variable: start_up_s + seconds_per_byte * bytes."),
         [&](auto& fitted, size_t /*index*/) {
           m("method", fitted.first, not_empty());
           m("start_up_s", fitted.second.intercept, at_least(0));
           m("seconds_per_byte", fitted.second.slope, at_least(0));
         });
  describe_left_out(m, "left_out", pair.left_out);
}

void describe(Members& m, PingPongReport& report) {
  m.constant("schema_version", 1);
  m("machine", report.machine, not_empty());
  m("ranks", report.rank_count, at_least(2));
  m("provenance", report.provenance);
  describe_disturbance(m, report.quiet);
  m("pairs", report.pairs, {.fewest = 1});
  m.list("sums", report.sums,
         {.meaning = "Of 8 bytes over all ranks: by each transport, MPI_Allreduce, MPI_Iallreduce.",
          .fewest = 2},
         [&](SumTime& sum, size_t /*index*/) {
           m("way", sum.way, not_empty());
           m("seconds", sum.seconds);
         });
  describe_left_out(m, "sums_left_out", report.sums_left_out);
  m.object("phases", meaning("One call by itself, on the grid of all ranks."), [&] {
    m("class", report.problem.class_name, not_empty());
    m("n", report.problem.n, at_least(1));
    describe_name(m, "grid", report.configuration.grid);
    m.list("transports", report.phases, {.fewest = 1}, [&](auto& row, size_t /*index*/) {
      m("transport", row.first, not_empty());
      m.object("phases", [&] {
        const auto phases = communication_phases();
        row.second.resize(phases.size());
        for (size_t k = 0; k < phases.size(); ++k) m(phase_name(phases[k]), row.second[k]);
      });
    });
    describe_left_out(m, "left_out", report.transports_left_out);
  });
}

ExitCode pingpong(const PingPongOptions& options, comm::RankGroup& group) {
  require_ranks_for(options, group.size());
  const Progress progress(options.progress, group.rank());
  const auto output = open_output(options.output, group);
  auto environment = inspect_environment(group, 1, options.memory_limit_bytes, &progress);
  if (options.names_hosts) name_by_host(environment);
  auto configuration = options.configuration;
  if (const auto named = grid_named_by(options.open_grid, group.size())) configuration.grid = *named;
  if (!configuration.has_grid())
    configuration.grid = choose_grid(facts_of(options.problem), configuration, group.size());
  PingPongReport report{.machine = environment.nodes.front().processor_with_caches(),
                        .provenance = {},
                        .rank_count = group.size(),
                        .problem = options.problem,
                        .configuration = configuration};
  if (group.rank() == 0) report.provenance = inspect_provenance(environment, options.names_hosts);
  require_memory(options, report.configuration, environment, group);
  NoiseMonitor quiet(group, environment);
  quiet.begin();
  // The other ranks must not disturb the pair.
  group.waiter().set_mode(comm::WaitMode::sleep);
  for (const auto& pair : options.pairs) {
    progress.say(fmt::format("transfers between ranks {} and {}", pair[0], pair[1]));
    report.pairs.push_back(measure_pair(group, pair, options.transfers, report.configuration));
  }
  const bool share_cores = environment.ranks_oversubscribed;
  group.waiter().set_mode(environment.wait_mode());
  const auto transports = transports_for(group);
  report.transports_left_out = transports.left_out;
  progress.say("dot products");
  if (share_cores)
    report.sums_left_out = {
        {"MPI_Allreduce", "the ranks share cores, and MPI_Allreduce keeps its core while it waits"}};
  auto sum_limits = race_limits;
  sum_limits.fewest_rounds = 15;
  sum_limits.most_rounds = 51;
  report.sums = time_sums(group, transports.available, !share_cores, sum_limits);
  progress.say(fmt::format("phases of class {}, grid {}", options.problem.class_name,
                           report.configuration.grid.name()));
  report.phases = measure_phases(group, transports, options.problem, report.configuration);
  quiet.end();
  report.quiet = quiet.result();
  write_output(output.get(), group, [&] {
    if (options.format == "json") return document_text(report);
    if (options.format == "csv")
      return csv_of_lists(report, {{"pairs", "transfers"}, {"sums"}, {"phases", "transports"}});
    auto text = fmt::format("\n cg2d pingpong - {}, {}\n Quiet = {}\n", report.machine,
                            format_count(report.rank_count, "rank"), report.quiet.text());
    for (const auto& pair : report.pairs) text += pair_text(pair);
    return text + sums_text(report) + phases_text(report);
  });
  return ExitCode::success;
}

}  // namespace cg2d
