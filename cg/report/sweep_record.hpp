#pragma once

// The description of what a sweep notes of a run.

#include <string>

#include "cg/base/json_record.hpp"
#include "cg/report/result_reader.hpp"

namespace cg2d {

/// A run of a sweep, as it was asked for.
struct SweptRun {
  const ConfiguredProblem& asked;
  std::string problem_class{};  ///< of the benchmark
  int round = 1;
  int round_count = 1;
  int attempt = 1;
  double duration_s = 0.0;
  std::string session{};
  int sitting = 1;
  RunPurpose purpose = RunPurpose::time;
  std::string trace_file{};
};

/// The member "sweep" of a result. is_system: of a user's own system, not of the benchmark.
const Record<SweptRun>& sweep_record(bool is_system);

}  // namespace cg2d
