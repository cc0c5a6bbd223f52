#include "cg/studies/sweep_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/text_file.hpp"

namespace cg2d {
namespace {

[[noreturn]] void cannot_open(const std::string& path, int error) {
  throw RunError(ExitCode::cannot_create,
                 fmt::format("--output {}: {}; name a file in a folder that can be written", path,
                             std::strerror(error)));
}

[[noreturn]] void cannot_append(const std::string& path) {
  throw RunError(ExitCode::cannot_write,
                 fmt::format("cannot write {}: {}; is the disk full?", path, std::strerror(errno)));
}

}  // namespace

std::string sweep_line(std::string_view run_json, const SweepStep& step, int round_count, double duration_s) {
  auto run = nlohmann::ordered_json::parse(run_json);
  const auto& asked = step.configuration;
  run["sweep"] = {{"key", asked.key()},
                  {"round", step.round},
                  {"rounds", round_count},
                  {"duration_s", duration_s},
                  {"configuration",
                   {{"class", run.at("problem").at("class")},
                    {"columns", asked.grid.columns},
                    {"rows", asked.grid.rows},
                    {"kernel", asked.kernel},
                    {"transport", asked.transport},
                    {"threads", asked.thread_count},
                    {"sum_form", sum_form_name(asked.sum_form)},
                    {"overlap", asked.overlaps}}}};
  return json_text(run) + "\n";
}

SweepFile::SweepFile(std::string path, bool fresh, const std::string& maker) : path_(std::move(path)) {
  try {
    open();
    if (fresh && ftruncate(descriptor_, 0) != 0) cannot_append(path_);
    const auto text = text_of_file(path_).value_or("");
    records_ = parse_sweep(text);
    require_maker(maker);
    drop_cut_line(text);  // the first change: the file is known to be a sweep's
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
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cannot_open(path_, errno);
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) cannot_open(path_, errno);
  // Behind a pipe or a device nothing can be resumed.
  if (!S_ISREG(status.st_mode)) throw InputError("it is no regular file");
  // File systems without locks (some network ones) answer otherwise: then nobody watches.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError("another sweep is writing it");
}

void SweepFile::drop_cut_line(std::string_view text) {
  const auto whole = complete_lines(text);
  was_cut_ = whole < text.size();
  // Shortened in place: one step of the file system, with the lock kept.
  if (was_cut_ && ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) cannot_append(path_);
}

void SweepFile::require_maker(const std::string& maker) const {
  for (const auto& record : records_) {
    if (record.maker.empty() || record.maker == maker) continue;
    throw InputError(
        fmt::format("its results come from another program or machine ({}; here: {})", record.maker, maker));
  }
}

void SweepFile::append(std::string_view line) {
  auto added = parse_sweep(line);
  for (std::string_view rest = line; !rest.empty();) {
    const auto written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_append(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(descriptor_) != 0) cannot_append(path_);
  records_.push_back(std::move(added.front()));
}

}  // namespace cg2d
