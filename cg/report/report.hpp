#pragma once

// Results and plans in their formats.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d {

/// The version of the results of run and solve, as sweeps and batches hold them.
inline constexpr int result_schema_version = 1;

class MatrixSource;
class Members;
struct Configuration;
struct Environment;
struct GridTrial;
struct Problem;
struct RaceVerdict;
struct RunReport;
struct SolveReport;
struct StreamPlan;
struct SystemOptions;
enum class ChoiceOrigin;

/// The results of `cg2d run` and `cg2d solve`, in one of these formats.
inline const std::vector<std::string> run_formats{"text", "json", "csv"};
inline const std::vector<std::string> solve_formats{"text", "json"};
std::string write_report(const RunReport& report, std::string_view format);
std::string write_report(const SystemOptions& options, const SolveReport& report, std::string_view format);

// Two of their six lines of summary, each without its label:

/// "1x2, best of 3 tried: better than 2x1 by 85 % (80 ... 91 %); two-sided messages, 2 threads per rank".
std::string grid_summary(const Configuration& configuration, bool is_automatic,
                         const std::optional<GridTrial>& trial);
/// "sell, avx512 (requested)". trial: the verdict where a trial chose; nullptr else.
std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial = nullptr);

/// The document of a plan, for its schema.
void visit_plan_document(Members& m);

/// A run that --dry-run plans.
struct PlannedRun {
  const Problem& problem;
  const Configuration& configuration;
  const comm::BlockLayout& layout;
  const MatrixSource& source;
  const Environment& environment;         ///< environment of the ranks that plan
  bool is_here = true;                    ///< the planned ranks are those
  const StreamPlan* streaming = nullptr;  ///< with --out-of-core
};
inline const std::vector<std::string> plan_formats{"text", "json"};
std::string describe_plan(const PlannedRun& run, std::string_view format);

}  // namespace cg2d
