#include "cg/base/remaining_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

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

}  // namespace cg2d
