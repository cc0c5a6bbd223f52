#include "cg/commands/batch/batch_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/commands/batch/task_crew.hpp"
#include "cg/commands/batch/task_queue.hpp"
#include "cg/commands/command_line.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d {
namespace {

/// The words of a task as arguments of the program.
std::vector<std::string> argument_texts(const Task& task) {
  std::vector<std::string> arguments{"cg2d"};
  arguments.insert(arguments.end(), task.words.begin(), task.words.end());
  return arguments;
}

ParsedCommand parsed(const Task& task) {
  const auto texts = argument_texts(task);
  std::vector<const char*> arguments;
  arguments.reserve(texts.size());
  for (const auto& text : texts) arguments.push_back(text.c_str());
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

void require_task(const Task& task, const ParsedCommand& command) {
  if (command.row != nullptr && command.row->is_task) return;
  std::string names;
  for (const auto& row : subcommand_table()) {
    if (row.is_task) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  throw InputError("{}; a task is one of {}",
                   command.row == nullptr
                       ? task.command() + ": prints help or the version only, and is no task"
                       : fmt::format("{}: is no task", command.row->name),
                   names);
}

/// The files of the batch itself, and those that tasks write whole: of two with the same one would be lost.
class WrittenFiles {
 public:
  explicit WrittenFiles(const BatchOptions& options) {
    add({"FILE", options.list}, "the list of tasks");
    add({"--output", options.output}, "the file of results");
    add({"--output", under_way_path_of(options.output)}, "the file of tasks under way");
    add({"standard output", "/dev/stdout"}, "standard output");
  }

  void add(const Task& task, const std::vector<FileOption>& files) {
    require_files_on_disk(files);
    require_different_files(files);
    for (const auto& file : files) {
      if (file.use != FileUse::reads && file.use != FileUse::reads_first)
        add(file, fmt::format("written by the task of {}", task.place));
    }
  }

 private:
  /// Tasks may update a file one after the other, and share a folder.
  void add(const FileOption& file, const std::string& use) {
    const auto identity = file_identity(file.path);
    if (identity.empty() || identity == standard_output_name) return;
    const bool is_whole = file.use == FileUse::writes || file.use == FileUse::writes_last;
    const auto earlier = uses_.find(identity);
    if (earlier != uses_.end()) throw InputError("{} {}: {}, too", file.option, file.path, earlier->second);
    if (is_whole) uses_.emplace(identity, use);
  }

  std::map<std::string, std::string> uses_;  // by what the files are
};

/// Seconds, roughly: of the benchmark by its nonzeros, and the rest is not known.
std::optional<double> expected_seconds(const Task& task, const ParsedCommand& command) {
  constexpr double nonzeros_per_s = 1e9;
  const auto letter = command.text_of("--class");
  if (task.expected_s || command.row->name != "run" || letter.empty()) return task.expected_s;
  auto problem = problem_class(letter);
  if (const auto count = number_from<int>(command.text_of("--niter"))) problem.niter = *count;
  const auto repeat_count = number_from<int>(command.text_of("--repeat")).value_or(1);
  return repeat_count * expected_work(problem, task.rank_count) / nonzeros_per_s;
}

/// Throws InputError that names the line of a command that could not begin.
std::vector<Task> checked_tasks(const BatchOptions& options, int worker_count) {
  const auto text = text_of_named_file(options.list, options.list);
  auto tasks = tasks_from(text, {.path = options.list,
                                 .ranks_per_task = options.ranks_per_task,
                                 .most_ranks = worker_count,
                                 .varied = options.varied,
                                 .part = options.part});
  WrittenFiles written(options);
  for (auto& task : tasks) {
    try {
      const auto command = parsed(task);
      require_task(task, command);
      if (const auto grid = command.text_of("--grid");
          grid.find_first_of("0123456789") != std::string::npos) {
        if (const auto shape = grid_from(grid, ", or auto, rule or official"))
          require_grid_of(*shape, task.rank_count);
      }
      written.add(task, command.files);
      task.expected_s = expected_seconds(task, command);
      task.names_format = !command.text_of("--format").empty();
    } catch (const InputError& error) {
      throw InputError("{}: {}", task.place, error.what());
    }
  }
  return tasks;
}

/// The tasks that are still to be done, and all that has become of them. On rank 0.
class Boss {
 public:
  Boss(const BatchOptions& options, int worker_count)
      : options_(options),
        tasks_(checked_tasks(options, worker_count)),
        journal_(options.output, options.fresh) {
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      if (!journal_.has_result(tasks_[k])) open_.push_back(k);
    }
    found_count_ = tasks_.size() - open_.size();
  }

  /// Hands out until all is done, a signal asks to end, or results cannot be kept. Whatever happens, no task is under way when it
  /// returns, and the crew is dismissed.
  void work(TaskCrew& crew, const Progress& progress) {
    try {
      hand_out(crew, progress);
    } catch (const RunError&) {
      crew.dismiss();
      throw;
    }
    crew.dismiss();
  }

  [[nodiscard]] std::string summary() const;
  [[nodiscard]] bool is_interrupted() const { return is_interrupted_; }
  [[nodiscard]] ExitCode code() const {
    if (is_interrupted_) return ExitCode::interrupted;
    const auto failed = std::ranges::find_if(
        results_, [](const auto& result) { return result.end.code != ExitCode::success; });
    return failed == results_.end() ? ExitCode::success : failed->end.code;
  }

 private:
  void hand_out(TaskCrew& crew, const Progress& progress) {
    queue_.emplace(queued(), crew.places(), options_.is_exclusive);
    worker_count_ = static_cast<int>(crew.places().size());
    const InterruptWatch watch;
    std::optional<TaskReport> report;
    std::optional<RunError> failure;
    while (true) {
      if (watch.asked() || failure) queue_->stop();
      while (const auto start = queue_->next()) begin(*start, crew);
      // Once its ranks are busy again. After a failure the journal may be elsewhere, and goes on there.
      try {
        if (report) take(*report, watch);
      } catch (const RunError& error) {
        failure = error;
      }
      if (queue_->is_idle()) break;
      show(progress);
      report = crew.await();
      queue_->end(report->task);
    }
    is_interrupted_ = watch.asked() && results_.size() < open_.size();
    duration_s_ = stopwatch_.seconds();
    journal_.close();
    if (failure) throw RunError(*failure);
  }

  /// The open tasks as the queue has them, which numbers them in this order. Those that have ended too many jobs are given up.
  std::vector<QueuedTask> queued() {
    std::vector<QueuedTask> tasks;
    std::vector<std::size_t> kept;
    for (const auto k : open_) {
      const auto& task = tasks_[k];
      const int end_count = journal_.end_count(task);
      if (end_count >= most_ends) {
        give_up(task);
        continue;
      }
      kept.push_back(k);
      tasks.push_back({.rank_count = task.rank_count,
                       .expected_s = task.expected_s,
                       .is_alone = end_count >= ends_before_alone});
    }
    queued_ = std::move(kept);
    starts_.resize(queued_.size());
    return tasks;
  }

  void give_up(const Task& task) {
    keep({.name = task.name,
          .command = task.command(),
          .sitting = journal_.sitting(),
          .end = {.code = ExitCode::internal,
                  .messages = {fmt::format("the job has ended {} times while it was under way, the last time "
                                           "alone; it is not tried again",
                                           most_ends)}}});
  }

  void begin(const TaskStart& start, TaskCrew& crew) {
    const auto& task = tasks_[queued_[start.task]];
    TaskOrder order{.task = start.task,
                    .words = argument_texts(task),
                    .ranks = {},
                    .limit_s = options_.task_limit_s,
                    .is_beside_others = may_have_company(start)};
    if (!task.names_format) order.words.insert(order.words.end(), {"--format", "json"});
    for (const int worker : start.workers) order.ranks.push_back(crew.rank_of(worker));
    starts_[start.task] = {.name = task.name,
                           .command = task.command(),
                           .ranks = order.ranks,
                           .start_s = stopwatch_.seconds(),
                           .sitting = journal_.sitting(),
                           .is_beside_others = order.is_beside_others,
                           .limit_s = options_.task_limit_s};
    journal_.begin(task);
    crew.begin(order);
  }

  /// Whether other tasks run now, or may begin before this one ends.
  [[nodiscard]] bool may_have_company(const TaskStart& start) const {
    if (options_.is_exclusive || journal_.end_count(tasks_[queued_[start.task]]) >= ends_before_alone)
      return false;
    const bool has_room = std::ssize(start.workers) < worker_count_;
    return queue_->under_way().size() > 1 || (has_room && queue_->waiting_count() > 0);
  }

  void take(TaskReport& report, const InterruptWatch& watch) {
    auto result = starts_[report.task];
    result.end = std::move(report.end);
    const bool was_interrupted = result.end.code == ExitCode::interrupted && !result.end.is_over_time;
    if (was_interrupted && is_asked_soon(watch)) return;  // it will be done again
    keep(std::move(result));
  }

  void keep(TaskResult result) {
    journal_.keep(result);
    result.end.output.clear();  // the journal has it
    results_.push_back(std::move(result));
  }

  /// A signal to all ranks reaches a task first now and then.
  static bool is_asked_soon(const InterruptWatch& watch) {
    using namespace std::chrono_literals;
    constexpr int looks = 50;
    for (int look = 0; look < looks && !watch.asked(); ++look) std::this_thread::sleep_for(10ms);
    return watch.asked();
  }

  void show(const Progress& progress) const {
    progress.say(fmt::format("{} of {} done, {} under way", found_count_ + results_.size(),
                             format_count(std::ssize(tasks_), "task"), queue_->under_way().size()));
  }

  const BatchOptions& options_;
  std::vector<Task> tasks_;
  TaskJournal journal_;
  std::vector<std::size_t> open_;    // without a result when the batch began
  std::vector<std::size_t> queued_;  // [task of the queue]
  std::vector<TaskResult> starts_;   // [task of the queue]
  std::vector<TaskResult> results_;  // of this sitting, as they ended
  std::size_t found_count_ = 0;      // results of earlier sittings
  std::optional<TaskQueue> queue_;
  int worker_count_ = 1;
  bool is_interrupted_ = false;
  Stopwatch stopwatch_;
  double duration_s_ = 0.0;
};

/// Tables that nobody reads are left out.
constexpr std::size_t most_table_lines = 50;

std::string table_of(std::vector<TaskResult> results) {
  constexpr std::size_t longest_name = 40;
  std::ranges::stable_sort(results, {}, &TaskResult::start_s);
  Table table;
  for (const auto& result : results) {
    const auto& name = result.name;
    table.line().word("Task", name.size() <= longest_name ? name : name.substr(0, longest_name - 3) + "...");
    table.number("Ranks", "{}", result.ranks.size()).number("Begin", "{:.2f} s", result.start_s);
    table.number("Time", "{:.3f} s", result.end.duration_s).word("End", status_name(result.end.code));
  }
  return table.text();
}

std::string Boss::summary() const {
  std::string text;
  if (!results_.empty() && results_.size() <= most_table_lines) text += table_of(results_) + "\n";
  for (const auto& result : results_) {
    if (const auto reason = result.reason(); !reason.empty())
      text += fmt::format(" {}: {} (code {})\n", result.name, reason, static_cast<int>(result.end.code));
  }
  std::vector<DoneTask> done;
  for (const auto& result : results_)
    done.push_back(
        {.rank_count = static_cast<int>(result.ranks.size()), .duration_s = result.end.duration_s});
  text += fmt::format(" {} in {:.3g} s on {}", format_count(std::ssize(results_), "task"), duration_s_,
                      format_count(worker_count_, "rank"));
  if (!done.empty())
    text += fmt::format("; ideal makespan {:.3g} s ({:.0f} %)", least_makespan(done, worker_count_),
                        100.0 * least_makespan(done, worker_count_) / duration_s_);
  if (found_count_ > 0) text += fmt::format("; {} had results before", found_count_);
  return text + fmt::format("\n Results: {}\n", options_.output);
}

}  // namespace

ExitCode run_batch(const BatchOptions& options, comm::RankGroup& group) {
  if (!comm::has_own_process())
    throw RunError(ExitCode::unavailable, "batch: needs a process for each rank, which a simulator has not");
  const Progress progress(options.progress, group.rank());
  std::unique_ptr<Boss> boss;
  agree_on(group, [&] {
    if (group.rank() == 0) boss = std::make_unique<Boss>(options, std::max(1, group.size() - 1));
  });
  const auto crew = gather_crew(group, &do_command_line);
  agree_on(group, [&] {
    if (crew) boss->work(*crew, progress);
  });
  write_output("", group, [&] { return boss->summary(); });
  const auto code = group.maximum(std::int64_t{boss ? static_cast<int>(boss->code()) : 0});
  if (boss && boss->is_interrupted())
    say_on_stderr(
        fmt::format("interrupted by a signal; the same command goes on where {} ends", options.output));
  return static_cast<ExitCode>(code);
}

}  // namespace cg2d
