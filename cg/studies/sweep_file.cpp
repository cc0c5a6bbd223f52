#include "cg/studies/sweep_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/measurement_record.hpp"
#include "cg/report/sweep_record.hpp"

namespace cg2d {
namespace {

[[noreturn]] void cannot_open(const std::string& path, int error) {
  errno = error;
  cannot_create(path);
}

}  // namespace

nlohmann::ordered_json sweep_json(nlohmann::ordered_json run, const ConfiguredProblem& asked,
                                  const StudyStep& step, const SweepCircumstances& circumstances) {
  const bool is_system = asked.is_system();
  run["sweep"] = json_of(sweep_record(is_system),
                         {.asked = asked,
                          .problem_class = is_system ? "" : run.at("problem").at("class").get<std::string>(),
                          .round = step.round,
                          .round_count = std::max(circumstances.round_count, step.round),
                          .attempt = step.attempt,
                          .duration_s = circumstances.duration_s,
                          .session = circumstances.session,
                          .sitting = circumstances.sitting,
                          .purpose = step.purpose,
                          .trace_file = circumstances.trace_file});
  return run;
}

std::string sweep_line(const nlohmann::ordered_json& run) { return json_text(run) + "\n"; }

SweepFile::SweepFile(std::string path, bool fresh, const std::string& maker) : path_(std::move(path)) {
  try {
    open();
    if (fresh && ftruncate(descriptor_, 0) != 0) cannot_write(path_);
    const auto text = text_of_file(path_).value_or("");
    records_ = parse_sweep(text);
    require_maker(maker);
    drop_cut_line(text);  // the first change: the file is known to be a sweep's
    begin_sitting();
  } catch (const InputError& error) {
    close(descriptor_);
    throw InputError(fmt::format("--output {}: {}; --fresh starts the file anew, or name another one", path_,
                                 error.what()));
  } catch (const RunError&) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

SweepFile::~SweepFile() { close(descriptor_); }

void SweepFile::open() {
  descriptor_ =
      ::open(output_target(path_).c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cannot_open(path_, errno);
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) cannot_open(path_, errno);
  // A pipe or a device cannot be resumed.
  if (!S_ISREG(status.st_mode)) throw InputError("it is no regular file");
  // File systems without locks (some network ones) fail with another error: then the file is not locked.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError("another sweep is writing it");
}

void SweepFile::drop_cut_line(std::string_view text) {
  const auto whole = complete_lines(text);
  was_cut_ = whole < text.size();
  // Shortened in place: an atomic step of the file system that keeps the lock.
  if (was_cut_ && ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) cannot_write(path_);
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
  const auto line = sweep_line(run);
  for (std::string_view rest = line; !rest.empty();) {
    const auto written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(descriptor_) != 0) cannot_write(path_);
  records_.push_back(std::move(added));
  mark_replaced(records_);
}

}  // namespace cg2d
