#include "cg/base/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cg/base/progress_display.hpp"
#include "cg/base/redirected_streams.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {

std::string format_duration(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

void DurationModel::add(const Work& work, double seconds) {
  by_key_[work.key].push_back(seconds);
  for (auto* rate : {&by_kind_[work.kind], &all_}) {
    rate->seconds += seconds;
    rate->amount += work.amount;
  }
}

std::optional<double> DurationModel::expected(const Work& work) const {
  if (all_.amount == 0.0) return std::nullopt;
  if (const auto same = by_key_.find(work.key); same != by_key_.end()) return sample_of(same->second).median;
  const auto alike = by_kind_.find(work.kind);
  const auto& rate = alike != by_kind_.end() ? alike->second : all_;
  return rate.seconds / rate.amount * work.amount;
}

PlannedTask::PlannedTask(std::vector<Work> works) : works_(std::move(works)) {
  // A first work that is over in no time must not leave none for all others.
  std::set<std::string> kinds;
  for (const auto& work : works_) {
    if (kinds.insert(work.kind).second) times_.add({.key = "", .kind = work.kind}, 1.0);
  }
}

void PlannedTask::begin(const std::string& key, double now_s) {
  const auto first = works_.begin() + static_cast<std::ptrdiff_t>(current_ ? *current_ + 1 : 0);
  auto found = std::ranges::find(first, works_.end(), key, &Work::key);
  if (found == works_.end()) found = std::ranges::find(works_, key, &Work::key);
  if (found == works_.end()) return;
  if (current_) times_.add(works_[*current_], now_s - begin_s_);
  current_ = static_cast<std::size_t>(found - works_.begin());
  begin_s_ = now_s;
}

double PlannedTask::remaining_s(double now_s) const {
  double seconds = 0.0;
  for (std::size_t k = current_ ? *current_ + 1 : 0; k < works_.size(); ++k)
    seconds += times_.expected(works_[k]).value();
  if (current_) seconds += std::max(0.0, times_.expected(works_[*current_]).value() - (now_s - begin_s_));
  return seconds;
}

namespace {

/// The display of this process: a process has one stderr. It lives as long as somebody shows progress.
std::weak_ptr<ProgressDisplay>& the_display() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static std::weak_ptr<ProgressDisplay> display;
  return display;
}

std::shared_ptr<ProgressDisplay> display_for(ProgressMode mode) {
  if (mode == ProgressMode::quiet) return nullptr;
  if (auto display = the_display().lock()) return display;
  const auto terminal = find_terminal();
  if (!terminal && mode != ProgressMode::always) return nullptr;
  auto display = std::make_shared<ProgressDisplay>(terminal);
  the_display() = display;
  return display;
}

}  // namespace

void say_on_stderr(const std::string& text) noexcept {
  if (const auto display = the_display().lock()) display->erase();
  std::fprintf(stderr, "cg2d: %s\n", text.c_str());
}

void say_last_on_stderr(const std::string& text) noexcept {
  if (const auto display = the_display().lock()) display->set_held(true);
  RedirectedStreams::undo();
  say_on_stderr(text);
}

void wait_for_readers_of_stderr() {
  using namespace std::chrono_literals;
  wait_until_read(STDERR_FILENO);
  std::this_thread::sleep_for(100ms);  // from the node's proxy to the launcher itself
}

void silence_stderr() noexcept {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

Progress::Progress(ProgressMode mode, int rank) {
  if (rank != 0) return;
  warns_ = mode != ProgressMode::quiet;
  display_ = display_for(mode);
}

void Progress::say(const std::string& text) const {
  if (display_) display_->show(is_part_ ? ProgressStep::part : ProgressStep::task, text);
}

void Progress::begin(const std::string& text) const {
  if (display_) display_->show(is_part_ ? ProgressStep::part : ProgressStep::task_without_line, text);
}

bool Progress::is_due() const {
  if (!display_ || (is_part_ && !display_->has_terminal())) return false;
  return display_->is_due();
}

void Progress::show_time() const {
  if (display_) display_->draw_time();
}

void Progress::expect(double remaining_s) const {
  if (!display_ || (is_part_ && !whole_s_)) return;
  display_->expect(is_part_ ? whole_s_(remaining_s) : remaining_s);
}

void Progress::warn(const std::string& text) const {
  if (warns_) say_on_stderr("warning: " + text);
}

Progress::TimedRegion::TimedRegion(const Progress& progress) : display_(progress.display_.get()) {
  if (display_ != nullptr) display_->change_region_depth(1);
}

Progress::TimedRegion::~TimedRegion() {
  if (display_ != nullptr) display_->change_region_depth(-1);
}

void PlannedProgress::say(const std::string& key) {
  const double now_s = stopwatch_.seconds();
  task_.begin(key, now_s);
  progress_.expect(task_.remaining_s(now_s));
  progress_.say(key);
}

void make_way_for_output() noexcept {
  const auto display = the_display().lock();
  if (!display || !display->has_terminal()) return;
  display->set_held(true);
  if (!display->erase()) return;
  using namespace std::chrono_literals;
  wait_until_read(STDERR_FILENO);
  std::this_thread::sleep_for(
      20ms);  // the launcher writes what it has read, to another descriptor than the output
}

void output_is_written() noexcept {
  const auto display = the_display().lock();
  if (!display || !display->has_terminal()) return;
  wait_until_read(STDOUT_FILENO);
  display->set_held(false);
}

}  // namespace cg2d
