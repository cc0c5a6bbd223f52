#pragma once

// The formats of `cg2d pingpong`: tables for people, JSON, CSV.

#include <nlohmann/json_fwd.hpp>
#include <optional>
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
  std::string machine;                   ///< processor of rank 0's node
  std::optional<Provenance> provenance;  ///< on rank 0
  int rank_count = 2;
  std::vector<PairResult> pairs{};
  /// Sums of 8 bytes over all ranks.
  std::vector<SumTime> sums{};
  std::string sums_left_out{};  ///< why MPI_Allreduce is not among them; empty if it is
  Problem problem;
  Configuration configuration;  ///< configuration of the phases, without transport and kernel
  std::vector<TransportPhases> phases{};
  std::vector<std::pair<std::string, std::string>> transports_left_out{};  ///< name and reason
  QuietResult quiet{};                                                     ///< over all measurements
};

/// Throws std::out_of_range for a format that is none of pingpong_format_names().
std::string write_pingpong(const PingPongReport& report, std::string_view format);
std::vector<std::string> pingpong_format_names();
/// The type of the document, for cg2d schema.
nlohmann::ordered_json pingpong_type();

}  // namespace cg2d
