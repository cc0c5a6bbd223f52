#include "cg/studies/sweep_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/describe_json.hpp"
#include "cg/base/errors.hpp"
#include "cg/machine/measurement_record.hpp"
#include "cg/report/session_document.hpp"

namespace cg2d {

nlohmann::ordered_json sweep_json(nlohmann::ordered_json run, SweptRun swept) {
  if (!swept.asked.is_system()) swept.problem_class = run.at("problem").at("class").get<std::string>();
  swept.round_count = std::max(swept.round_count, swept.round);
  run["sweep"] = json_of(swept);
  return run;
}

SweepFile::SweepFile(const std::string& path, bool fresh, const std::string& maker) {
  try {
    file_.emplace(path, "another sweep", fresh);
    records_ = parse_sweep(file_->text());
    require_maker(maker);
    was_cut_ = file_->drop_cut_line();  // the first change: the file is known to be a sweep's
    begin_sitting();
  } catch (const InputError& error) {
    throw InputError(fmt::format("--output {}: {}; --fresh starts the file anew, or name another one", path,
                                 error.what()));
  }
}

void SweepFile::require_maker(const std::string& maker) const {
  for (const auto& record : records_) {
    if (record.maker.empty() || record.maker == maker) continue;
    throw InputError(
        fmt::format("its results come from another program or machine ({}; here: {})", record.maker, maker));
  }
}

void SweepFile::begin_sitting() {
  if (records_.empty()) {
    // Unique among the sweeps that one report may get.
    session_ = fmt::format("{}-{}", date_now(), getpid());
    return;
  }
  session_ = records_.front().session;
  for (const auto& record : records_) sitting_ = std::max(sitting_, record.sitting + 1);
}

void SweepFile::append(const nlohmann::ordered_json& run) {
  auto added = record_from(run);
  file_->append(json_text(run));
  file_->sync();
  records_.push_back(std::move(added));
  mark_replaced(records_);
}

}  // namespace cg2d
