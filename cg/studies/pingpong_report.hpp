#pragma once

// The formats of `cg2d pingpong`: tables for people, JSON, CSV.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/pingpong_measure.hpp"

namespace cg2d {

struct PingPongReport {
  std::string machine;    ///< processor of rank 0's node
  Provenance provenance;  ///< on rank 0
  int rank_count = 2;
  std::vector<PairResult> pairs{};
  /// Sums of 8 bytes over all ranks.
  std::vector<SumTime> sums{};
  std::vector<std::pair<std::string, std::string>> sums_left_out{};  ///< name and reason
  Problem problem;
  Configuration configuration;  ///< configuration of the phases, without transport and kernel
  std::vector<TransportPhases> phases{};
  std::vector<std::pair<std::string, std::string>> transports_left_out{};  ///< name and reason
  QuietResult quiet{};                                                     ///< over all measurements
};

class Members;
void describe(Members& m, PingPongReport& report);

inline const std::vector<std::string> pingpong_formats{"text", "json", "csv"};
/// format: one of these.
std::string write_pingpong(const PingPongReport& report, std::string_view format);

}  // namespace cg2d
