// `cg2d batch`: a list of tasks, handed out to groups of ranks.

#include <chrono>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "cg/base/agreement.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/commands/batch/task_list.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/machine/environment.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d {
namespace {

struct BatchOptions : TaskListOptions {
  std::string output;  ///< the file of results
  std::optional<double> task_limit_s{};
  bool is_exclusive = false;
  bool fresh = false;
  ProgressMode progress = ProgressMode::on_a_terminal;
};

// ---------------------------------------------------------------- results

/// A task that has begun, or ended: the message to its ranks, and theirs.
struct TaskResult {
  size_t number = 0;  ///< among the tasks of this call
  std::string name{};
  std::string command{};             ///< as a shell takes it, without cg2d
  std::vector<std::string> words{};  ///< of the command line, the program's name first
  std::vector<int> ranks{};          ///< of the job, ascending; empty where it could not be tried
  std::optional<double> limit_s{};   ///< what it may take
  bool is_beside_others = false;     ///< other tasks may run at the same time
  double start_s = 0.0;              ///< since the batch began
  int sitting = 1;                   ///< the call of cg2d batch, by number, that did it

  ExitCode code = ExitCode::success;
  double duration_s = 0.0;              ///< seconds
  bool is_over_time = false;            ///< it was stopped since it took longer than it may
  std::string output{};                 ///< what its command wrote to standard output
  std::vector<std::string> messages{};  ///< lines that its ranks wrote to stderr

  /// By a signal, not by its time limit.
  bool was_interrupted() const { return code == ExitCode::interrupted && !is_over_time; }
  /// Why it did not succeed; empty: it did.
  std::string reason() const {
    if (code == ExitCode::success) return {};
    // The last words of a command are its error.
    constexpr std::string_view speaker = "cg2d: ";
    if (messages.empty()) return std::string(status_name(code));
    const std::string_view last = messages.back();
    return std::string(last.starts_with(speaker) ? last.substr(speaker.size()) : last);
  }
};

/// A result with the document that its command wrote.
struct TaskLine {
  TaskResult task{};
  Json document{};
};

void describe_task(Members& m, TaskResult& task) {
  m("name", task.name, not_empty("Unique in its batch."));
  m("command", task.command, not_empty("As a shell takes it."));
  m("ranks", task.ranks, at_least(0, "The ranks of the job that did it; none where it was not tried again."));
  m("start_s", task.start_s, at_least(0, "Since its sitting of the batch began."));
  m("duration_s", task.duration_s, at_least(0, "From its ranks' first step to their last."));
  m("sitting", task.sitting, at_least(1, "The call of cg2d batch, by number, that did it."));
  m("beside_other_tasks", task.is_beside_others,
    meaning("Other tasks may have run at the same time: no verdict compares such times."));
  m.derived("exit_code", static_cast<int>(task.code), at_least(0));
  m("status", task.code);
  m.derived("reason", meaning("Empty on success."), [&] { return task.reason(); });
  m("messages", task.messages, meaning("Lines that its ranks wrote to stderr."));
}

void describe(Members& m, TaskLine& line) {
  auto output =
      line.task.output.empty() || !line.document.is_null() ? std::nullopt : std::optional(line.task.output);
  m.constant("schema_version", 1);
  m.object("task", [&] { describe_task(m, line.task); });
  m("result", line.document,
    meaning(
        "The JSON that the command wrote to standard output, by the schema of that command; null: none."));
  m("output", output, meaning("What it wrote to standard output, where that is no JSON."));
}

void describe(Members& m, TaskResult& task) {
  m("number", task.number);
  m("words", task.words);
  m("limit_s", task.limit_s);
  m("is_over_time", task.is_over_time);
  m("output", task.output);
  m.object("task", [&] { describe_task(m, task); });
}

/// A job that dies takes the tasks under way with it, and one of them may be the reason. How often that may happen to a task:
constexpr int ends_before_alone = 2;  ///< so often, and then it is done alone, after all others
constexpr int most_ends = 3;          ///< then it is not tried again

/// The file beside the results that names the tasks under way.
std::string under_way_path_of(const std::string& path) { return path + ".under-way"; }

std::vector<std::string_view> whole_lines_of(std::string_view text) {
  return lines_of(text.substr(0, complete_lines(text)));
}

/// The results of a batch, a line for each task, and beside them, while the batch goes on, the names of tasks that began: a killed job
/// loses those under way and nothing else. No MPI.
class TaskJournal {
 public:
  /// Opens or makes the files; an incomplete last line, which a killed writer leaves, is dropped. fresh: they are emptied. Throws
  /// RunError: cannot_create, or usage for a file of anything else, or in use.
  TaskJournal(const std::string& path, bool fresh) try : path_(path), results_(path, "another batch", fresh) {
    size_t line_number = 0;
    for (const auto line : whole_lines_of(results_.text())) {
      ++line_number;
      try {
        auto task = from_json<TaskLine>(json_from(line)).task;
        sitting_ = std::max(sitting_, task.sitting + 1);
        task.output.clear();
        known_[task.name] = std::move(task);
      } catch (const nlohmann::json::exception& error) {
        throw InputError("line {} is no result of a task ({})", line_number, plain_text(error));
      } catch (const InputError& error) {
        throw InputError("line {} is no result of a task ({})", line_number, error.what());
      }
    }
    results_.drop_cut_line();  // the first change: the file is known to be a batch's
    under_way_.emplace(under_way_path_of(path), "another batch", fresh);
    for (const auto line : whole_lines_of(under_way_->text())) begun_.emplace_back(line);
    under_way_->drop_cut_line();
  } catch (const InputError& error) {
    throw InputError("--output {}: {}; --fresh starts the file anew, or name another one", path,
                     error.what());
  }

  /// The task's result, without its output; null: it has none. Throws InputError where that is of another command.
  const TaskResult* result_of(const Task& task) const {
    const auto found = known_.find(task.name);
    if (found == known_.end()) return nullptr;
    if (found->second.command != task.command())
      throw InputError(
          "{}: \"{}\" has a result of another command in {} ({}); give it another name, or start the results "
          "anew with --fresh",
          task.place, task.name, path_, found->second.command);
    return &found->second;
  }
  /// How many jobs have ended while the task was under way.
  ptrdiff_t end_count(const Task& task) const { return std::ranges::count(begun_, task.name); }
  /// The number of this call, from 1 on.
  int sitting() const { return sitting_; }

  /// Notes that a task begins, where that can be written.
  void begin(const Task& task) { under_way_->append(task.name); }
  /// Keeps a result: it survives the job at once, and the system from the next result that comes a second after the last
  /// sync(), or from close(). Throws RunError (cannot_write), as LineFile::sync(); the result is kept all the same.
  void keep(const TaskResult& result) {
    constexpr double longest_unsynced_s = 1.0;
    // Null where the command wrote no document, or a text for people.
    auto document = Json::parse(result.output, nullptr, false);
    if (!document.is_object()) document = nullptr;
    results_.append(json_line(TaskLine{.task = result, .document = std::move(document)}));
    if (since_sync_.seconds() < longest_unsynced_s) return;
    results_.sync();
    since_sync_ = Stopwatch();
  }
  /// The batch ends, and no task is under way. Throws RunError (cannot_write), as LineFile::sync().
  void close() {
    results_.sync();
    under_way_->remove();
  }

 private:
  std::string path_;
  LineFile results_;
  std::optional<LineFile> under_way_;        // once the results are known to be a batch's
  std::map<std::string, TaskResult> known_;  // by the tasks' names
  std::vector<std::string> begun_;           // by earlier jobs, once for each
  int sitting_ = 1;
  Stopwatch since_sync_;
};

// ---------------------------------------------------------------- the list

/// The words of a task as arguments of the program.
std::vector<std::string> argument_texts(const Task& task) {
  std::vector<std::string> arguments{"cg2d"};
  arguments.insert(arguments.end(), task.words.begin(), task.words.end());
  return arguments;
}

/// Throws InputError that names the line of a command that could not begin.
std::vector<Task> checked_tasks(const BatchOptions& options, int worker_count) {
  TaskListOptions list(static_cast<const TaskListOptions&>(options));
  list.most_ranks = worker_count;
  auto tasks = tasks_from(text_of_named_file(options.path, options.path), list);
  // Files, by what they are: of two tasks that write the same one whole, the results of one would be lost. Tasks may update a file one after
  // the other, and share a folder.
  std::map<std::string, std::string> uses;
  const auto note_use = [&](const FileOption& file, const std::string& use) {
    const auto identity = file_identity(file.path);
    if (identity.empty() || identity == standard_output_name) return;
    if (const auto earlier = uses.find(identity); earlier != uses.end())
      throw InputError("{} {}: {}, too", file.option, file.path, earlier->second);
    if (file.use == FileUse::writes || file.use == FileUse::writes_last) uses.emplace(identity, use);
  };
  note_use({"FILE", options.path}, "the list of tasks");
  note_use({"--output", options.output}, "the file of results");
  note_use({"--output", under_way_path_of(options.output)}, "the file of tasks under way");
  note_use({"standard output", "/dev/stdout"}, "standard output");
  for (auto& task : tasks) {
    try {
      const auto command = parse_command_line(argument_texts(task));
      const auto is_task = [](const SubcommandRow& row) { return row.kind == CommandKind::task; };
      if (command.row == nullptr || !is_task(*command.row))
        throw InputError("{}: is no task; a task is one of {}", task.command(),
                         fmt::join(names_where(subcommand_table(), is_task), ", "));
      if (const auto grid = command.options->text_of("--grid");
          grid.find_first_of("0123456789") != std::string::npos) {
        if (const auto shape = grid_from(grid, ", or auto, rule or official"))
          require_grid_of(*shape, task.rank_count);
      }
      require_files_on_disk(command.files);
      require_different_files(command.files);
      for (const auto& file : command.files) {
        if (file.use != FileUse::reads && file.use != FileUse::reads_first)
          note_use(file, fmt::format("written by the task of {}", task.place));
      }
      task.names_format = !command.options->text_of("--format").empty();
    } catch (const InputError& error) {
      throw InputError("{}: {}", task.place, error.what());
    }
  }
  return tasks;
}

// ---------------------------------------------------------------- those who do the tasks

/// Does a task, with all that its ranks write caught. node: of this rank, with the ranks that work there. Collective over them; the result is whole
/// on the first of them.
void do_task(TaskResult& task, comm::RankGroup& ranks, const NodeInfo& node) {
  const MemoryFile output;
  const MemoryFile errors;
  bool was_late = false;
  {
    const RedirectedStreams streams(output.descriptor(), errors.descriptor());
    std::optional<BesideOtherTasks> others;
    if (task.is_beside_others) others.emplace(node.rank_count, node.core_count);
    const TimeLimit limit(task.limit_s);
    const Stopwatch stopwatch;
    task.code = do_command_line(task.words, ranks);
    task.duration_s = stopwatch.seconds();
    was_late = limit.was_reported();
  }
  task.is_over_time = ranks.maximum(int64_t{was_late ? 1 : 0}) != 0 && task.code == ExitCode::interrupted;
  // A command may let another rank speak for all.
  for (const auto& text : ranks.gather_all(output.text())) task.output += text;
  for (const auto& text : ranks.gather_all(errors.text())) {
    for (const auto line : lines_of(text)) {
      if (!line.empty()) task.messages.push_back(one_line(line));
    }
  }
}

/// Does what the scheduler tells, until no order comes any more.
void do_tasks(comm::RankGroup& group, const NodeInfo& node) {
  std::map<std::vector<int>, comm::RankGroup> groups;
  while (true) {
    // A signal in a task, or between two, ends no other task.
    const InterruptWatch watch;
    const auto text = group.receive_text(0);
    if (text.empty()) return;
    auto task = from_json_line<TaskResult>(text).value();
    try {
      do_task(task, groups.try_emplace(task.ranks, group.part(task.ranks)).first->second, node);
    } catch (const RunError& error) {  // of this rank alone, for which the others would wait: it ends all
      throw std::runtime_error(error.what());
    }
    if (group.rank() == task.ranks.front()) group.send_text(json_line(task), 0);
  }
}

/// The node of each worker, on rank 0, which hands out, and costs no processor where there are others. None on the other ranks: they have
/// done all tasks that they got when this returns. Collective. Throws MpiError.
std::vector<int> gather_workers(comm::RankGroup& group) {
  if (group.size() == 1) return {0};
  auto environment = inspect_environment(group, 1);
  --environment.nodes[static_cast<size_t>(environment.ranks[0].node)].rank_count;  // the scheduler waits
  // Ranks that hand out, or have nothing to do, must not take a core from the others.
  group.waiter().set_mode(comm::WaitMode::sleep);
  std::vector<int> nodes;
  if (group.rank() > 0) {
    do_tasks(group, environment.node_of(group.rank()));
    return nodes;
  }
  for (int rank = 1; rank < group.size(); ++rank)
    nodes.push_back(environment.ranks[static_cast<size_t>(rank)].node);
  return nodes;
}

// ---------------------------------------------------------------- the one who hands them out

/// The tasks that are still to be done, and all that has become of them. On rank 0. The workers are all other ranks, or, where it is the only
/// one, this rank, which does a task when it begins.
class Scheduler {
 public:
  /// Gives up the tasks that have ended too many jobs.
  Scheduler(const BatchOptions& options, comm::RankGroup& group)
      : options_(options),
        group_(group),
        worker_count_(std::max(1, group.size() - 1)),
        tasks_(checked_tasks(options, worker_count_)),
        all_count_(tasks_.size()),
        journal_(options.output, options.fresh) {
    std::erase_if(tasks_, [&](const Task& task) {
      if (const auto* found = journal_.result_of(task)) {
        ++found_count_;
        results_.push_back(*found);
        return true;
      }
      if (journal_.end_count(task) < most_ends) return false;
      keep({.name = task.name,
            .command = task.command(),
            .sitting = journal_.sitting(),
            .code = ExitCode::internal,
            .messages = {fmt::format("the job has ended {} times while it was under way, the last time "
                                     "alone; it is not tried again",
                                     most_ends)}});
      return true;
    });
    for (auto& task : tasks_) {
      task.is_last = journal_.end_count(task) >= ends_before_alone;
      task.is_alone = task.is_last || options.is_exclusive;
    }
  }

  /// Hands out until all is done, a signal asks to end, or results cannot be kept. nodes: of the workers. No task is under way when it
  /// returns, or throws RunError; MpiError.
  void hand_out(std::vector<int> nodes, const Progress& progress) {
    queue_.emplace(tasks_, std::move(nodes));
    const InterruptWatch watch;
    std::optional<TaskResult> ended;
    std::optional<RunError> failure;
    while (true) {
      if (ended) wait_for_signal(*ended, watch);
      if (watch.asked() || failure) queue_->stop();
      while (const auto start = queue_->next()) begin(*start);
      // Once its ranks are busy again. After a failure the journal may be elsewhere, and goes on there.
      try {
        if (ended) take(std::move(*ended), watch);
      } catch (const RunError& error) {
        failure = error;
      }
      if (queue_->is_idle()) break;
      progress.say(fmt::format("{} of {} done, {} under way", results_.size(),
                               format_count(static_cast<int64_t>(all_count_), "task"),
                               queue_->under_way().size()));
      if (group_.size() == 1) {
        ended = std::move(own_);
      } else {
        ended = from_json_line<TaskResult>(group_.receive_text(group_.await_text())).value();
      }
      queue_->end(ended->number);
    }
    is_interrupted_ = watch.asked() && results_.size() < all_count_;
    duration_s_ = stopwatch_.seconds();
    journal_.close();
    if (failure) throw RunError(*failure);
  }

  std::string summary() const {
    std::string text;
    for (const auto& result : results_) {
      if (const auto reason = result.reason(); !reason.empty())
        text += fmt::format(" {}: {} (code {})\n", result.name, reason, static_cast<int>(result.code));
    }
    text += fmt::format(" {} in {:.3g} s on {}", format_count(std::ssize(results_) - found_count_, "task"),
                        duration_s_, format_count(worker_count_, "rank"));
    if (found_count_ > 0) text += fmt::format("; {} had results before", found_count_);
    return text + fmt::format("\n Results: {}\n", options_.output);
  }
  bool is_interrupted() const { return is_interrupted_; }
  ExitCode code() const {
    if (is_interrupted_) return ExitCode::interrupted;
    const auto failed =
        std::ranges::find_if(results_, [](const auto& result) { return result.code != ExitCode::success; });
    return failed == results_.end() ? ExitCode::success : failed->code;
  }

 private:
  void begin(const TaskStart& start) {
    const auto& task = tasks_[start.task];
    TaskResult begun{.number = start.task,
                     .name = task.name,
                     .command = task.command(),
                     .words = argument_texts(task),
                     .limit_s = options_.task_limit_s,
                     .is_beside_others = may_have_company(start),
                     .start_s = stopwatch_.seconds(),
                     .sitting = journal_.sitting()};
    if (!task.names_format) begun.words.insert(begun.words.begin() + 2, {"--format", "json"});
    const int first_rank = group_.size() == 1 ? 0 : 1;
    for (const int worker : start.workers) begun.ranks.push_back(first_rank + worker);
    journal_.begin(task);
    if (group_.size() == 1) {
      do_task(begun, group_, {});
      own_ = std::move(begun);
      return;
    }
    const auto text = json_line(begun);
    for (const int rank : begun.ranks) group_.send_text(text, rank);
  }

  /// Whether other tasks run now, or may begin before this one ends.
  bool may_have_company(const TaskStart& start) const {
    if (tasks_[start.task].is_alone) return false;
    const bool has_room = std::ssize(start.workers) < worker_count_;
    return queue_->under_way().size() > 1 || (has_room && queue_->waiting_count() > 0);
  }

  /// A signal to all ranks reaches a task first now and then: this rank gets it before it begins another one.
  static void wait_for_signal(const TaskResult& ended, const InterruptWatch& watch) {
    constexpr int looks = 50;
    for (int look = 0; look < looks && ended.was_interrupted() && !watch.asked(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  void take(TaskResult result, const InterruptWatch& watch) {
    if (result.was_interrupted() && watch.asked()) return;  // it will be done again
    keep(std::move(result));
  }

  void keep(TaskResult result) {
    journal_.keep(result);
    result.output.clear();  // the journal has it
    results_.push_back(std::move(result));
  }

  const BatchOptions& options_;
  comm::RankGroup& group_;
  int worker_count_;
  std::vector<Task> tasks_;  // without a result when the batch began
  size_t all_count_;
  TaskJournal journal_;
  ptrdiff_t found_count_ = 0;        // results of earlier sittings
  std::vector<TaskResult> results_;  // these, then those of this sitting, as they ended
  std::optional<TaskQueue> queue_;
  TaskResult own_;  // of the only rank
  bool is_interrupted_ = false;
  Stopwatch stopwatch_;
  double duration_s_ = 0.0;
};

/// Does all tasks that have no result yet, and prints a summary. Returns the code of the first task that failed, or `interrupted`.
/// Collective; the same code on every rank. Throws RunError (on every rank alike) before a task begins, or where no result can be
/// kept; MpiError, std::bad_alloc.
ExitCode run_batch(const BatchOptions& options, comm::RankGroup& group) {
  if (!comm::has_own_process())
    throw RunError(ExitCode::unavailable, "batch: needs a process for each rank, which a simulator has not");
  const Progress progress(options.progress, group.rank());
  std::unique_ptr<Scheduler> scheduler;
  agree_on(group, [&] {
    if (group.rank() == 0) scheduler = std::make_unique<Scheduler>(options, group);
  });
  auto nodes = gather_workers(group);
  Agreement handing_out(group);
  handing_out.attempt([&] {
    if (scheduler) scheduler->hand_out(std::move(nodes), progress);
  });
  for (int rank = 1; scheduler && rank < group.size(); ++rank)
    group.send_text({}, rank);  // no further task comes
  handing_out.reach();
  write_output("", group, [&] { return scheduler->summary(); });
  const auto code = group.maximum(int64_t{scheduler ? static_cast<int>(scheduler->code()) : 0});
  if (scheduler && scheduler->is_interrupted())
    say_on_stderr(
        fmt::format("interrupted by a signal; the same command goes on where {} ends", options.output));
  return static_cast<ExitCode>(code);
}

/// The results stand beside the list, unless they are named.
void check_batch(BatchOptions& batch) {
  if (!batch.output.empty()) return;
  if (batch.path.starts_with("/dev/") || batch.path.starts_with("/proc/"))
    throw InputError("--output: {} is no place for the results; name a file for them", batch.path);
  batch.output = std::filesystem::path(batch.path).replace_extension(".results.jsonl").string();
}

}  // namespace

void visit_task_line(Members& m) { visit_new<TaskLine>(m); }

void declare_batch(Subcommand& command) {
  command.describe("hand out many tasks to groups of ranks",
                   {"mpiexec -n 3 cg2d batch tasks.txt",
                    "mpiexec -n 17 cg2d batch tasks.txt --ranks-per-task 4 --task-time 10min"});
  auto& batch = command.with<BatchOptions>(&run_batch);
  command.add(
      "FILE FILE",
      "tasks, a command line of run, solve, stencil or check in each line, after name=NAME or ranks=N "
      "where a task needs them",
      batch.path, {.file = FileUse::reads, .is_required = true});
  command.add("--ranks-per-task N", "ranks of a task that does not say ranks=N", batch.ranks_per_task,
              {.standing = "1", .most = any_count});
  command.add("--task-time TIME", "stop a task that takes longer, between two of its iterations",
              batch.task_limit_s, &limit_seconds_from, {.standing = "no limit"});
  command.add("--exclusive", "one task at a time, so that none disturbs the times of another",
              batch.is_exclusive);
  command.begin_group("Output");
  command.add("--output FILE", "file that gets a line of JSON per task; a batch goes on where it ends",
              batch.output, {.standing = "the list's name with .results.jsonl", .file = FileUse::updates});
  command.add("--fresh", "empty the file first", batch.fresh);
  add_progress_options(command, batch.progress);
  command.check = [&] { check_batch(batch); };
}

}  // namespace cg2d
