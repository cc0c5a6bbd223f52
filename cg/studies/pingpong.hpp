#pragma once

// `cg2d pingpong`: the time that moving data takes on this machine, by every method. One transfer is half a round trip: some variables go one
// by one from one rank to the other, which then knows that all are there (see comm/pingpong.hpp). The time per message is that of a
// transfer over the number of its variables: from the sender's writing of a word to the receiver's reading of it.

#include <array>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/run/session_options.hpp"
#include "cg/timing/phase.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Two ranks.
using RankPair = std::array<int, 2>;

/// The transfers to measure: every method with every size and number of variables.
struct TransferOptions {
  std::vector<std::string> methods;  ///< names; see pingpong_method_names()
  std::vector<int64_t> byte_counts;
  std::vector<int> variable_counts;
};

/// One method, size and number of variables.
struct TransferTime {
  std::string method;
  int variable_count = 1;
  int64_t byte_count = 8;  ///< bytes of one variable
  Sample seconds;          ///< per message
  double bytes_per_s() const { return static_cast<double>(byte_count) / seconds.median; }
};

struct PairResult {
  RankPair ranks{0, 1};
  bool same_node = true;
  std::vector<TransferTime> times{};  ///< by size, then variables, then method
  Named<std::string> left_out{};      ///< method and reason

  /// Transfers of one variable as a line fitted over the bytes, method by method.
  Named<Line> lines() const;
};
void describe(Members& m, PairResult& pair);

/// Names of all methods, in the order of the table.
std::vector<std::string> pingpong_method_names();

/// Every method in turns, size by size. Only the two ranks work; the others wait in `group`, whose mode
/// should be sleep. Every transfer is checked by a word of each variable, and every shape once byte by byte.
/// configuration: its nodes decide whether the two ranks share one. Collective over all ranks of the group;
/// the same result on every rank. Throws RunError (on every rank alike), MpiError.
PairResult measure_pair(comm::RankGroup& group, const RankPair& pair, const TransferOptions& transfers,
                        const Configuration& configuration);

struct PingPongReport {
  std::string machine;    ///< processor of rank 0's node
  Provenance provenance;  ///< on rank 0
  int rank_count = 2;
  std::vector<PairResult> pairs{};
  /// Sums of 8 bytes over all ranks.
  std::vector<SumTime> sums{};
  Named<std::string> sums_left_out{};  ///< name and reason
  Problem problem;
  Configuration configuration;          ///< configuration of the phases, without transport and kernel
  Named<std::vector<Sample>> phases{};  ///< of one call in each phase that communicates, of each transport
  Named<std::string> transports_left_out{};  ///< name and reason
  QuietResult quiet{};                       ///< over all measurements
};

void describe(Members& m, PingPongReport& report);

inline const std::vector<std::string> pingpong_formats{"text", "json", "csv"};

/// The options of `cg2d pingpong`.
struct PingPongOptions {
  std::vector<RankPair> pairs;
  TransferOptions transfers;
  Problem problem;              ///< whose phases are measured
  Configuration configuration;  ///< an open grid: the rule's; transports are compared, whatever it says
  OpenGridOptions open_grid;    ///< only whether it is the official one
  std::string format = "text";
  std::string output;
  bool names_hosts = false;
  int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The most bytes of a variable and the most variables. Each rank needs that much twice or three
/// times in each of three kinds of memory.
inline constexpr int64_t largest_variable_byte_count = 1 << 30;
inline constexpr int most_variables = 1024;

/// Measures and prints. Collective; the same code on every rank. Throws RunError (on every rank alike),
/// MpiError, std::bad_alloc.
ExitCode pingpong(const PingPongOptions& options, comm::RankGroup& group);

}  // namespace cg2d
