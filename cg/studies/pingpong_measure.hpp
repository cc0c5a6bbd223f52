#pragma once

// The measurements of `cg2d pingpong`. One transfer is half a round trip: some variables go one by one from
// one rank to the other, which then knows that all are there (see comm/pingpong.hpp). The time per message
// is that of a transfer over the number of its variables: from the sender's writing of a word to the
// receiver's reading of it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct RankPair {
  int first = 0;
  int second = 1;
};

/// The transfers to measure: every method with every size and number of variables.
struct TransferOptions {
  std::vector<std::string> methods;  ///< names; see pingpong_method_names()
  std::vector<std::int64_t> byte_counts;
  std::vector<int> variable_counts;
};

/// One method, size and number of variables.
struct TransferTime {
  std::string method;
  int variable_count = 1;
  std::int64_t byte_count = 8;  ///< bytes of one variable
  Sample seconds;               ///< per message
  [[nodiscard]] double bytes_per_s() const { return static_cast<double>(byte_count) / seconds.median; }
};

/// A method's transfers of one variable as a line fitted over the bytes.
struct TransferLine {
  std::string method;
  Line line;
};

struct PairResult {
  RankPair pair;
  bool same_node = true;
  std::vector<TransferTime> times{};  ///< by size, then variables, then method
  std::vector<TransferLine> lines{};
  std::vector<std::pair<std::string, std::string>> left_out{};  ///< method and reason

  /// nullptr if that was not measured.
  [[nodiscard]] const TransferTime* find(std::string_view method, int variable_count,
                                         std::int64_t byte_count) const;
};
class Members;
void describe(Members& m, PairResult& pair);

/// Names of all methods, in the order of the table.
std::vector<std::string> pingpong_method_names();

/// Memory of a rank of a pair for the transfers, bytes, beside its process.
std::int64_t transfer_bytes(const TransferOptions& transfers);

/// Every method in turns, size by size. Only the two ranks work; the others wait in `group`, whose mode
/// should be sleep. Every transfer is checked by a word of each variable, and every shape once byte by byte.
/// configuration: its nodes decide whether the two ranks share one. Collective over all ranks of the group;
/// the same result on every rank. Throws RunError (on every rank alike), MpiError.
PairResult measure_pair(comm::RankGroup& group, const RankPair& pair, const TransferOptions& transfers,
                        const Configuration& configuration);

/// The phases of the benchmark that communicate; what a phase of a grid without partners takes is measured, too.
inline constexpr auto communication_phase_count = static_cast<std::size_t>(std::ranges::count_if(
    phase_table(), [](const PhaseRow& phase) { return phase.is_of_benchmark && phase.communicates(); }));
Phase communication_phase_at(std::size_t index);

struct TransportPhases {
  std::string transport;
  std::vector<Sample> seconds{};  ///< seconds of one call, by communication_phase_at()
};

/// All transports in turns, phase by phase, at the sizes of the problem on the configuration's grid.
/// Collective, all ranks work. Throws as time_operations().
std::vector<TransportPhases> measure_phases(comm::RankGroup& group, const UsableTransports& transports,
                                            const Problem& problem, const Configuration& configuration);

}  // namespace cg2d
