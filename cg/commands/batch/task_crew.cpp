#include "cg/commands/batch/task_crew.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/redirected_streams.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/line_file.hpp"
#include "cg/commands/command_line.hpp"
#include "cg/machine/environment.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

/// The ranks that work on the node of this one, and the cores that they may run on.
struct NodeCrew {
  int rank_count = 0;
  int core_count = 0;
};

/// Does a task, with all that its ranks write caught. Collective over them; the result is whole on the first of them.
TaskEnd do_task(const TaskOrder& order, comm::RankGroup& ranks, const NodeCrew& node) {
  const MemoryFile output;
  const MemoryFile errors;
  TaskEnd end;
  bool was_late = false;
  {
    const RedirectedStreams streams(output.descriptor(), errors.descriptor());
    std::optional<BesideOtherTasks> others;
    if (order.is_beside_others) others.emplace(node.rank_count, node.core_count);
    const TimeLimit limit(order.limit_s);
    const Stopwatch stopwatch;
    end.code = do_command_line(order.words, ranks);
    end.duration_s = stopwatch.seconds();
    was_late = limit.was_reported();
  }
  end.is_over_time = ranks.maximum(std::int64_t{was_late ? 1 : 0}) != 0 && end.code == ExitCode::interrupted;
  // A command may let another rank speak for all.
  for (const auto& text : ranks.gather_all(output.text())) end.output += text;
  for (const auto& text : ranks.gather_all(errors.text())) {
    for (const auto line : lines_of(text)) {
      if (!line.empty()) end.messages.push_back(one_line(line));
    }
  }
  return end;
}

/// Does what the boss tells, until no order comes any more.
void do_tasks(comm::RankGroup& group, const NodeCrew& node) {
  std::map<std::vector<int>, comm::RankGroup> groups;
  while (true) {
    // A signal in a task, or between two, ends no other task.
    const InterruptWatch watch;
    const auto text = group.receive_text(0);
    if (text.empty()) return;
    const auto order = from_json_line<TaskOrder>(text).value();
    auto ranks = groups.find(order.ranks);
    if (ranks == groups.end()) ranks = groups.try_emplace(order.ranks, group.part(order.ranks)).first;
    const auto end = do_task(order, ranks->second, node);
    if (group.rank() == order.ranks.front()) group.send_text(json_line(end), 0);
  }
}

NodeCrew crew_of(const NodeInfo& node, const Environment& environment) {
  const bool has_boss = &node == &environment.node_of(0);
  return {.rank_count = node.rank_count - (has_boss ? 1 : 0), .core_count = node.core_count};
}

/// Of all ranks but the boss, who waits: [worker]. Alike where they share cores: then none has a speed of its own.
std::vector<double> speeds_of_workers(comm::RankGroup& group, const Environment& environment) {
  std::vector<double> alike(static_cast<std::size_t>(group.size() - 1), 1.0);
  const bool shares_cores = std::ranges::any_of(environment.nodes, [&](const auto& node) {
    const auto crew = crew_of(node, environment);
    return crew.rank_count > crew.core_count;
  });
  if (shares_cores || alike.size() < 2) return alike;
  double mine = 0.0;
  if (group.rank() > 0) {
    std::vector<int> workers(alike.size());
    std::iota(workers.begin(), workers.end(), 1);
    comm::RankGroup others(group.part(workers));
    mine = own_speed(others);
  }
  const auto all = group.gather_one(mine);
  return {std::next(all.begin()), all.end()};
}

}  // namespace

void TaskCrew::begin(std::size_t task, TaskResult begun) {
  auto& report = reports_[static_cast<std::size_t>(begun.order.ranks.front())];
  report = {.task = task, .result = std::move(begun)};
  const auto& order = report.result.order;
  if (group_.size() == 1) {
    report.result.end = do_task(order, group_, {});
    return;
  }
  const auto text = json_line(order);
  for (const int rank : order.ranks) group_.send_text(text, rank);
}

TaskReport TaskCrew::await() {
  if (group_.size() == 1) return std::move(reports_.front());
  const int rank = group_.await_text();
  auto& report = reports_[static_cast<std::size_t>(rank)];
  report.result.end = from_json_line<TaskEnd>(group_.receive_text(rank)).value();
  return std::move(report);
}

void TaskCrew::dismiss() {
  for (int rank = 1; rank < group_.size(); ++rank) group_.send_text({}, rank);
}

std::optional<TaskCrew> gather_crew(comm::RankGroup& group) {
  if (group.size() == 1) return TaskCrew(group, {WorkerPlace{}});
  const auto environment = inspect_environment(group, 1);
  // Those who hand out, and those who have nothing to do, must not take a core from the others.
  group.waiter().set_mode(comm::WaitMode::sleep);
  const auto classes = speed_classes(speeds_of_workers(group, environment));
  if (group.rank() > 0) {
    do_tasks(group, crew_of(environment.node_of(group.rank()), environment));
    return std::nullopt;
  }
  std::vector<WorkerPlace> places;
  for (std::size_t worker = 0; worker < classes.size(); ++worker)
    places.push_back({.node = environment.ranks[worker + 1].node, .speed_class = classes[worker]});
  return TaskCrew(group, std::move(places));
}

}  // namespace cg2d
