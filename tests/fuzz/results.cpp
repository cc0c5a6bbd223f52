// Results of runs and sweeps: single objects and lines, as cg2d compare, export and sweep read them.

#include <string_view>
#include <vector>

#include "cg/report/result_reader.hpp"
#include "cg/report/run_verdict.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

/// All that the commands make of results.
void check_uses(const std::vector<ResultRecord>& records) {
  static_cast<void>(accepts<InputError>([&] {
    const auto comparison = compare_results(records, records, 0.05);
    promise(comparison.exit_code() != ExitCode::regression, "no result is slower than itself");
    static_cast<void>(comparison_text(comparison));
  }));
  static_cast<void>(accepts<InputError>([&] { static_cast<void>(csv_lines(records)); }));
  static_cast<void>(accepts<InputError>([&] { static_cast<void>(extra_p_lines(records)); }));
}

}  // namespace

bool take_results(std::string_view input) {
  std::vector<ResultRecord> of_a_sweep;
  const bool is_sweep = accepts<InputError>([&] { of_a_sweep = parse_sweep(input); });
  std::vector<ResultRecord> records;
  const bool is_accepted = accepts<InputError>([&] { records = parse_results(input); });
  if (is_sweep && is_accepted)
    promise(of_a_sweep.size() == records.size(), "a sweep's results are those of its file");
  if (!is_accepted) return false;
  check_uses(records);
  return !records.empty();
}

}  // namespace cg2d::fuzz
