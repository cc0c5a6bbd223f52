// Results of runs and sweeps: single objects and lines, as cg2d compare, export and sweep read them.

#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/run_verdict.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {
namespace {

/// The lines of a text, or its single object, as JSON is written.
std::string written_again(std::string_view text, bool is_single) {
  if (is_single) return json_text(json_from(text));
  std::string lines;
  for (auto rest = text.substr(0, complete_lines(text)); !rest.empty();) {
    const auto end = rest.find('\n');
    lines += json_text(json_from(rest.substr(0, end))) + "\n";
    rest.remove_prefix(end + 1);
  }
  return lines;
}

bool is_same(const ResultRecord& left, const ResultRecord& right) {
  return left.asked == right.asked && left.round == right.round && left.attempt == right.attempt &&
         left.is_replaced == right.is_replaced && left.status == right.status &&
         left.reason == right.reason && left.exit_code == right.exit_code &&
         left.kernel_used == right.kernel_used && left.n == right.n && left.times_s == right.times_s &&
         left.time_s == right.time_s && left.maker == right.maker && left.place == right.place &&
         left.purpose == right.purpose && left.session == right.session && left.sitting == right.sitting;
}

void check_writing(std::string_view input, const std::vector<ResultRecord>& records) {
  const bool is_single = records.size() == 1 && records.front().place.empty();
  const auto again = parse_results(written_again(input, is_single));
  promise(again.size() == records.size(), "results can be written and read back");
  for (size_t k = 0; k < records.size(); ++k)
    promise(is_same(again[k], records[k]), "a result is the same when it is written and read back");
}

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
  check_writing(input, records);
  check_uses(records);
  return !records.empty();
}

}  // namespace cg2d::fuzz
