#include "cg/commands/batch/task_journal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/describe_json.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

/// The document that a command wrote; null where it wrote none, or a text for people.
Json document_in(const std::string& output) {
  auto document = Json::parse(output, nullptr, false);
  return document.is_object() ? document : Json(nullptr);
}

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

constexpr std::string_view batch_writer = "another batch";
constexpr double longest_unsynced_s = 1.0;

std::vector<std::string_view> whole_lines_of(std::string_view text) {
  return lines_of(text.substr(0, complete_lines(text)));
}

}  // namespace

void describe(Members& m, TaskResult& task) {
  m("number", task.number);
  m("words", task.words);
  m("limit_s", task.limit_s);
  m("is_over_time", task.is_over_time);
  m("output", task.output);
  m.object("task", [&] { describe_task(m, task); });
}

std::string TaskResult::reason() const {
  if (code == ExitCode::success) return {};
  if (is_over_time)
    return fmt::format("stopped after {:.3g} s: --task-time is {:.6g} s", duration_s, limit_s.value_or(0.0));
  // The last words of a command are its error.
  constexpr std::string_view speaker = "cg2d: ";
  if (messages.empty()) return std::string(status_name(code));
  const std::string_view last = messages.back();
  return std::string(last.starts_with(speaker) ? last.substr(speaker.size()) : last);
}

void visit_task_line(Members& m) { visit_new<TaskLine>(m); }

std::string under_way_path_of(const std::string& path) { return path + ".under-way"; }

TaskJournal::TaskJournal(const std::string& path, bool fresh) try
    : path_(path),
      results_(path_, batch_writer, fresh),
      under_way_(under_way_path_of(path), batch_writer, fresh) {
  for (const auto line : whole_lines_of(results_.text())) {
    try {
      const auto task = json_from(line).at("task");
      known_.push_back({.name = task.at("name").get<std::string>(),
                        .command = task.at("command").get<std::string>(),
                        .sitting = integer_at<int>(task, "sitting")});
    } catch (const nlohmann::json::exception& error) {
      throw InputError("line {} is no result of a task ({})", known_.size() + 1, plain_text(error));
    }
    sitting_ = std::max(sitting_, known_.back().sitting + 1);
  }
  for (const auto line : whole_lines_of(under_way_.text())) {
    try {
      begun_.push_back(json_from(line).get<std::string>());
    } catch (const nlohmann::json::exception&) {
      throw InputError("it holds no names of tasks");
    }
  }
  results_.drop_cut_line();  // the first change: the file is known to be a batch's
  under_way_.drop_cut_line();
} catch (const InputError& error) {
  throw InputError("--output {}: {}; --fresh starts the file anew, or name another one", path, error.what());
}

bool TaskJournal::has_result(const Task& task) const {
  const auto found = std::ranges::find(known_, task.name, &TaskResult::name);
  if (found == known_.end()) return false;
  if (found->command != task.command())
    throw InputError(
        "{}: \"{}\" has a result of another command in {} ({}); give it another name, or start the results "
        "anew with --fresh",
        task.place, task.name, path_, found->command);
  return true;
}

int TaskJournal::end_count(const Task& task) const {
  return static_cast<int>(std::ranges::count(begun_, task.name));
}

void TaskJournal::begin(const Task& task) { under_way_.append(json_text(task.name)); }

void TaskJournal::keep(const TaskResult& result) {
  results_.append(json_line(TaskLine{.task = result, .document = document_in(result.output)}));
  if (since_sync_.seconds() < longest_unsynced_s) return;
  results_.sync();
  since_sync_ = Stopwatch();
}

void TaskJournal::close() {
  results_.sync();
  under_way_.remove();
}

}  // namespace cg2d
