#include "cg/commands/batch/task_crew.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/redirected_streams.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/line_file.hpp"
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
TaskEnd do_task(const TaskOrder& order, comm::RankGroup& ranks, const NodeCrew& node,
                CommandLine command_line) {
  std::vector<const char*> words;
  words.reserve(order.words.size());
  for (const auto& word : order.words) words.push_back(word.c_str());
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
    end.code = command_line(static_cast<int>(words.size()), words.data(), ranks);
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

/// A rank that does what the boss tells it, until no order comes any more.
class Worker {
 public:
  Worker(comm::RankGroup& group, NodeCrew node, CommandLine command_line)
      : group_(group), node_(node), command_line_(command_line) {}

  void work() {
    while (true) {
      // A signal in a task, or between two, ends no other task.
      const InterruptWatch watch;
      const auto text = group_.receive_text(0);
      if (text.empty()) return;
      const auto order = from_json_line<TaskOrder>(text).value();
      const auto end = do_task(order, ranks_of(order), node_, command_line_);
      if (group_.rank() == order.ranks.front()) group_.send_text(json_line(end), 0);
    }
  }

 private:
  comm::RankGroup& ranks_of(const TaskOrder& order) {
    const auto known = groups_.find(order.ranks);
    if (known != groups_.end()) return known->second;
    return groups_.try_emplace(order.ranks, group_.part(order.ranks)).first->second;
  }

  comm::RankGroup& group_;
  NodeCrew node_;
  CommandLine command_line_;
  std::map<std::vector<int>, comm::RankGroup> groups_;
};

/// All ranks but this one, by messages.
class OtherRanks final : public TaskCrew {
 public:
  /// speeds: [worker]
  OtherRanks(comm::RankGroup& group, const Environment& environment, std::span<const double> speeds)
      : group_(group) {
    const auto classes = speed_classes(speeds);
    for (std::size_t worker = 0; worker < classes.size(); ++worker)
      places_.push_back({.node = environment.ranks[worker + 1].node, .speed_class = classes[worker]});
    tasks_.resize(static_cast<std::size_t>(group.size()));
  }

  [[nodiscard]] const std::vector<WorkerPlace>& places() const override { return places_; }
  [[nodiscard]] int rank_of(int worker) const override { return worker + 1; }
  void begin(const TaskOrder& order) override {
    const auto text = json_line(order);
    for (const int rank : order.ranks) group_.send_text(text, rank);
    tasks_[static_cast<std::size_t>(order.ranks.front())] = order.task;
  }
  [[nodiscard]] TaskReport await() override {
    const int rank = group_.await_text();
    return {.task = tasks_[static_cast<std::size_t>(rank)],
            .end = from_json_line<TaskEnd>(group_.receive_text(rank)).value()};
  }
  void dismiss() override {
    for (int rank = 1; rank < group_.size(); ++rank) group_.send_text({}, rank);
  }

 private:
  comm::RankGroup& group_;
  std::vector<WorkerPlace> places_;
  std::vector<std::size_t> tasks_;  // [rank that reports]
};

/// The only rank, which does a task when it is told to.
class OwnRank final : public TaskCrew {
 public:
  OwnRank(comm::RankGroup& group, CommandLine command_line) : group_(group), command_line_(command_line) {}

  [[nodiscard]] const std::vector<WorkerPlace>& places() const override { return places_; }
  [[nodiscard]] int rank_of(int worker) const override { return worker; }
  void begin(const TaskOrder& order) override {
    report_ = {.task = order.task, .end = do_task(order, group_, {}, command_line_)};
  }
  [[nodiscard]] TaskReport await() override { return std::move(report_); }
  void dismiss() override {}

 private:
  comm::RankGroup& group_;
  CommandLine command_line_;
  std::vector<WorkerPlace> places_{WorkerPlace{}};
  TaskReport report_;
};

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

void describe(Members& m, TaskOrder& order) {
  m("task", order.task, at_least(0));
  m("words", order.words);
  m("ranks", order.ranks);
  m("limit_s", order.limit_s);
  m("is_beside_others", order.is_beside_others);
}

std::unique_ptr<TaskCrew> gather_crew(comm::RankGroup& group, CommandLine command_line) {
  if (group.size() == 1) return std::make_unique<OwnRank>(group, command_line);
  const auto environment = inspect_environment(group, 1);
  // Those who hand out, and those who have nothing to do, must not take a core from the others.
  group.waiter().set_mode(comm::WaitMode::sleep);
  const auto speeds = speeds_of_workers(group, environment);
  if (group.rank() == 0) return std::make_unique<OtherRanks>(group, environment, speeds);
  Worker(group, crew_of(environment.node_of(group.rank()), environment), command_line).work();
  return nullptr;
}

}  // namespace cg2d
