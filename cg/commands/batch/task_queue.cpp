#include "cg/commands/batch/task_queue.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace cg2d {
namespace {

/// Ascending: the order in which tasks begin.
auto rank_in_queue(const Task& task) {
  return std::tuple(task.is_alone, -task.rank_count,
                    -task.expected_s.value_or(std::numeric_limits<double>::infinity()));
}

/// So many neighbours that begin at a multiple of their number, so that groups of ranks are the same again and again; else the
/// first ones.
std::vector<int> neighbours_among(const std::vector<int>& workers, int count) {
  for (auto first = workers.begin(); std::distance(first, workers.end()) >= count; ++first) {
    if (*first % count == 0 && *std::next(first, count - 1) == *first + count - 1)
      return {first, std::next(first, count)};
  }
  return {workers.begin(), std::next(workers.begin(), count)};
}

}  // namespace

std::vector<int> speed_classes(std::span<const double> speeds) {
  constexpr double least_share = 0.75;
  std::vector<std::size_t> by_speed(speeds.size());
  std::iota(by_speed.begin(), by_speed.end(), std::size_t{0});
  std::ranges::stable_sort(by_speed, std::ranges::greater(),
                           [&](std::size_t worker) { return speeds[worker]; });
  std::vector<int> classes(speeds.size(), 0);
  int number = 0;
  double fastest = speeds.empty() ? 0.0 : speeds[by_speed.front()];
  for (const auto worker : by_speed) {
    if (speeds[worker] < least_share * fastest) {
      ++number;
      fastest = speeds[worker];
    }
    classes[worker] = number;
  }
  return classes;
}

TaskQueue::TaskQueue(std::vector<Task> tasks, std::vector<WorkerPlace> places, bool is_exclusive)
    : tasks_(std::move(tasks)),
      places_(std::move(places)),
      is_exclusive_(is_exclusive),
      waiting_(tasks_.size()),
      is_free_(places_.size(), true) {
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  std::ranges::stable_sort(waiting_, {}, [this](std::size_t task) { return rank_in_queue(tasks_[task]); });
}

std::optional<TaskStart> TaskQueue::next() {
  const auto task =
      std::ranges::find_if(waiting_, [this](std::size_t each) { return may_begin(tasks_[each]); });
  if (task == waiting_.end()) return std::nullopt;
  const TaskStart start{.task = *task, .workers = free_workers(tasks_[*task].rank_count)};
  for (const int worker : start.workers) is_free_[static_cast<std::size_t>(worker)] = false;
  waiting_.erase(task);
  under_way_.push_back(start);
  return start;
}

void TaskQueue::end(std::size_t task) {
  const auto ended = std::ranges::find(under_way_, task, &TaskStart::task);
  for (const int worker : ended->workers) is_free_[static_cast<std::size_t>(worker)] = true;
  under_way_.erase(ended);
}

bool TaskQueue::may_begin(const Task& task) const {
  const auto is_lonely = [&](const TaskStart& start) { return is_exclusive_ || tasks_[start.task].is_alone; };
  if ((task.is_alone && !is_idle()) || std::ranges::any_of(under_way_, is_lonely)) return false;
  return std::ranges::count(is_free_, true) >= task.rank_count;
}

/// Those of the fastest class that has so many on a node, there of the node with the fewest; else, whatever their speed, of the node with the fewest that suffice;
/// else of the nodes with the most.
std::vector<int> TaskQueue::free_workers(int count) const {
  constexpr int any_class = std::numeric_limits<int>::max();
  std::map<std::pair<int, int>, std::vector<int>>
      groups;  // by class and node; the last ones have all of a node
  for (std::size_t worker = 0; worker < places_.size(); ++worker) {
    if (!is_free_[worker]) continue;
    for (const int speed_class : {places_[worker].speed_class, any_class})
      groups[{speed_class, places_[worker].node}].push_back(static_cast<int>(worker));
  }
  const std::vector<int>* best = nullptr;
  int class_of_best = 0;
  std::vector<std::vector<int>> nodes;
  for (const auto& [key, workers] : groups) {
    if (best != nullptr && key.first > class_of_best) break;
    if (key.first == any_class) nodes.push_back(workers);
    if (std::ssize(workers) < count || (best != nullptr && workers.size() >= best->size())) continue;
    best = &workers;
    class_of_best = key.first;
  }
  if (best != nullptr) return neighbours_among(*best, count);
  std::ranges::stable_sort(nodes, {}, &std::vector<int>::size);
  std::vector<int> chosen;
  for (auto node = nodes.rbegin(); node != nodes.rend() && std::ssize(chosen) < count; ++node)
    std::copy_n(node->begin(), std::min<std::ptrdiff_t>(std::ssize(*node), count - std::ssize(chosen)),
                std::back_inserter(chosen));
  std::ranges::sort(chosen);
  return chosen;
}

double least_makespan(std::span<const Task> tasks, int worker_count) {
  double longest = 0.0;
  double sum = 0.0;
  for (const auto& task : tasks) {
    longest = std::max(longest, *task.expected_s);
    sum += *task.expected_s * task.rank_count;
  }
  return std::max(longest, sum / worker_count);
}

}  // namespace cg2d
