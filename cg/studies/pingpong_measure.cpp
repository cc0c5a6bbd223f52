#include "cg/studies/pingpong_measure.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/tune_measure.hpp"
#include "comm/mpi_handles.hpp"
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
std::uint64_t pattern_word(std::uint64_t transfer, int sender, std::size_t place) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  return (transfer * 2 + static_cast<std::uint64_t>(sender)) * odd + place * (odd >> 2U);
}

comm::VariableShape largest_shape(const TransferOptions& transfers) {
  return {.count = static_cast<std::size_t>(*std::ranges::max_element(transfers.variable_counts)),
          .byte_count = static_cast<std::size_t>(*std::ranges::max_element(transfers.byte_counts))};
}

/// One method of a PingPong, with checks.
class CheckedTransfers {
 public:
  CheckedTransfers(comm::PingPong& memory, std::size_t method, const comm::PingPongMethod& names, int rank)
      : memory_(memory), method_(method), names_(names), rank_(rank) {}

  [[nodiscard]] std::string_view name() const { return names_.name; }

  /// There and back: the first bytes of each variable, or all, change with each transfer and are compared.
  void round_trip(const comm::VariableShape& shape, std::size_t compared_bytes = sizeof(std::uint64_t)) {
    ++transfer_;
    if (rank_ == 0) {
      write(shape, compared_bytes);
      memory_.send(method_, shape);
      memory_.receive(method_, shape);
      compare(shape, compared_bytes);
    } else {
      memory_.receive(method_, shape);
      compare(shape, compared_bytes);
      write(shape, compared_bytes);
      memory_.send(method_, shape);
    }
  }

  [[nodiscard]] bool is_right() const { return is_right_; }

 private:
  /// visit(place, number of bytes, word of the sender) for each word of all variables; the last one of a variable may be shorter.
  template <typename Visit>
  void for_every_word(const comm::VariableShape& shape, std::size_t byte_count, int sender,
                      const Visit& visit) const {
    const auto end = std::min(byte_count, shape.byte_count);
    for (std::size_t variable = 0; variable < shape.count; ++variable) {
      for (std::size_t begin = 0; begin < end; begin += sizeof(std::uint64_t)) {
        const auto place = shape.offset(variable) + begin;
        visit(place, std::min(end - begin, sizeof(std::uint64_t)), pattern_word(transfer_, sender, place));
      }
    }
  }
  void write(const comm::VariableShape& shape, std::size_t byte_count) {
    const auto outgoing = memory_.outgoing(method_);
    for_every_word(shape, byte_count, rank_, [&](auto place, auto size, const auto& word) {
      std::memcpy(outgoing.data() + place, &word, size);
    });
  }
  void compare(const comm::VariableShape& shape, std::size_t byte_count) {
    const auto incoming = memory_.incoming(method_);
    for_every_word(shape, byte_count, 1 - rank_, [&](auto place, auto size, const auto& word) {
      is_right_ = is_right_ && std::memcmp(incoming.data() + place, &word, size) == 0;
    });
  }

  comm::PingPong& memory_;
  std::size_t method_;
  const comm::PingPongMethod& names_;
  int rank_;
  std::uint64_t transfer_ = 0;
  bool is_right_ = true;
};

/// The two ranks of a pair, between themselves.
class PairRace {
 public:
  PairRace(comm::RankGroup& pair, const TransferOptions& transfers, bool same_node)
      : pair_(pair), transfers_(transfers), same_node_(same_node) {
    const bool share_a_core = inspect_environment(pair, 1).ranks_oversubscribed;
    pair.waiter().set_mode(share_a_core ? comm::WaitMode::yield : comm::WaitMode::spin);
    const auto largest = largest_shape(transfers_);
    for (const auto& row : comm::pingpong_table()) add_row(row, largest, share_a_core);
  }

  PairResult measure() {
    for (const auto byte_count : transfers_.byte_counts) {
      for (const int variable_count : transfers_.variable_counts) {
        measure_shape({.count = static_cast<std::size_t>(variable_count),
                       .byte_count = static_cast<std::size_t>(byte_count)});
      }
    }
    return std::move(result_);
  }

 private:
  void add_row(const comm::PingPongRow& row, const comm::VariableShape& largest, bool share_a_core) {
    const auto reason = row.shares_memory && !same_node_ ? std::string("the two ranks are on different nodes")
                                                         : row.why_unavailable(pair_);
    comm::PingPong* memory = nullptr;
    for (std::size_t k = 0; k < row.methods.size(); ++k) {
      const auto& method = row.methods[k];
      if (std::ranges::find(transfers_.methods, method.name) == transfers_.methods.end()) continue;
      if (!reason.empty()) {
        result_.left_out.emplace_back(method.name, reason);
      } else if (method.blocks && share_a_core) {
        result_.left_out.emplace_back(method.name,
                                      "the two ranks share a core, and this method keeps it while it waits");
      } else {
        if (memory == nullptr) memory = &make_memory(row, largest);
        methods_.emplace_back(*memory, k, method, pair_.rank());
      }
    }
  }

  comm::PingPong& make_memory(const comm::PingPongRow& row, const comm::VariableShape& largest) {
    try {
      return *memories_.emplace_back(row.make(pair_, largest));
    } catch (const comm::SharedMemoryError& error) {  // on both ranks alike
      throw RunError(ExitCode::memory, fmt::format("{}; take smaller --sizes", error.what()));
    }
  }

  void measure_shape(const comm::VariableShape& shape) {
    std::vector<std::function<void()>> works;
    for (auto& method : methods_) {
      method.round_trip(shape, shape.byte_count);
      pair_.barrier();  // before another method waits without MPI
      works.emplace_back([&method, shape] { method.round_trip(shape); });
    }
    require_right(shape);
    auto turns = race(pair_, works, race_limits).turns;
    require_right(shape);
    for (std::size_t k = 0; k < methods_.size(); ++k) {
      for (double& seconds : turns[k]) seconds /= 2.0 * static_cast<double>(shape.count);
      result_.times.push_back({.method = std::string(methods_[k].name()),
                               .variable_count = static_cast<int>(shape.count),
                               .byte_count = static_cast<std::int64_t>(shape.byte_count),
                               .seconds = sample_of(std::move(turns[k]))});
    }
  }

  void require_right(const comm::VariableShape& shape) {
    agree_on(pair_, [&] {
      for (const auto& method : methods_) {
        if (method.is_right()) continue;
        throw RunError(ExitCode::internal, fmt::format("pingpong: {} of {} x {} bytes brought wrong data",
                                                       method.name(), shape.count, shape.byte_count));
      }
    });
  }

  comm::RankGroup& pair_;
  const TransferOptions& transfers_;
  bool same_node_;
  std::vector<std::unique_ptr<comm::PingPong>> memories_;
  std::vector<CheckedTransfers> methods_;
  PairResult result_;
};

/// The transfers of one variable, method by method.
std::vector<TransferLine> lines_of(const std::vector<TransferTime>& times) {
  std::vector<TransferLine> lines;
  for (const auto& method : pingpong_method_names()) {
    std::vector<LinePoint> points;
    for (const auto& time : times) {
      if (time.method == method && time.variable_count == 1)
        points.push_back({.x = static_cast<double>(time.byte_count), .y = time.seconds.median});
    }
    if (points.size() > 1) lines.push_back({.method = method, .line = fit_line(points)});
  }
  return lines;
}

}  // namespace

const TransferTime* PairResult::find(std::string_view method, int variable_count,
                                     std::int64_t byte_count) const {
  const auto found = std::ranges::find_if(times, [&](const auto& time) {
    return time.method == method && time.variable_count == variable_count && time.byte_count == byte_count;
  });
  return found == times.end() ? nullptr : &*found;
}

std::vector<std::string> pingpong_method_names() {
  std::vector<std::string> names;
  for (const auto& row : comm::pingpong_table()) {
    for (const auto& method : row.methods) names.emplace_back(method.name);
  }
  return names;
}

std::int64_t transfer_bytes(const TransferOptions& transfers) {
  // To write, to read, and a part of a window or of a segment.
  constexpr std::int64_t buffers = 3;
  const auto is_wanted = [&](const comm::PingPongMethod& method) {
    return std::ranges::find(transfers.methods, method.name) != transfers.methods.end();
  };
  const auto rows = std::ranges::count_if(comm::pingpong_table(), [&](const comm::PingPongRow& row) {
    return std::ranges::any_of(row.methods, is_wanted);
  });
  return saturated(static_cast<double>(buffers * rows) *
                   static_cast<double>(largest_shape(transfers).memory_byte_count()));
}

PairResult measure_pair(comm::RankGroup& group, const RankPair& pair, const TransferOptions& transfers,
                        const Configuration& configuration) {
  const auto nodes = comm::make_node_map(group, configuration.ranks_per_node);
  const bool same_node = nodes.node_of(pair.first) == nodes.node_of(pair.second);
  std::string found;  // as JSON
  agree_on(group, [&] {
    if (group.rank() != pair.first && group.rank() != pair.second) return;
    comm::RankGroup both(group.part({pair.first, pair.second}));
    auto mine = PairRace(both, transfers, same_node).measure();
    mine.pair = pair;
    mine.same_node = same_node;
    if (group.rank() == pair.first) found = json_line(mine);
  });
  auto result =
      from_json_line<PairResult>(group.gather_all(found).at(static_cast<std::size_t>(pair.first))).value();
  result.lines = lines_of(result.times);
  return result;
}

Phase communication_phase_at(std::size_t index) {
  for (const auto& phase : phase_table()) {
    if (phase.communicates() && index-- == 0) return phase.phase;
  }
  throw std::out_of_range("communication_phase_at");
}

std::vector<TransportPhases> measure_phases(comm::RankGroup& group, const UsableTransports& transports,
                                            const Problem& problem, const Configuration& configuration) {
  const auto layout = make_layout(facts_of(problem), configuration);
  std::vector<TransportPhases> phases;
  for (const auto* transport : transports.available)
    phases.push_back({.transport = std::string(transport->name)});
  for (std::size_t index = 0; index < communication_phase_count; ++index) {
    const auto& phase = phase_row(communication_phase_at(index));
    std::vector<TimedOperation> timed;
    for (const auto* transport : transports.available)
      timed.push_back({.transport = *transport,
                       .operation = *phase.operation,
                       .layout = layout,
                       .options = communicator_options(configuration, false)});
    const auto samples = time_operations(group, timed, race_limits);
    for (std::size_t k = 0; k < samples.size(); ++k) phases[k].seconds.push_back(samples[k]);
  }
  return phases;
}

}  // namespace cg2d
