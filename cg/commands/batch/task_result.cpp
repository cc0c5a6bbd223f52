#include "cg/commands/batch/task_result.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/base/storage/line_file.hpp"

namespace cg2d {
namespace {

constexpr int batch_schema_version = 1;

/// The document that a command wrote; null where it wrote none, or a text for people.
Json document_in(const std::string& output) {
  auto document = Json::parse(output, nullptr, false);
  return document.is_object() ? document : Json(nullptr);
}

const Record<TaskResult>& task_record() {
  static const Record<TaskResult> record{
      "task",
      {{"name", name_type(), &TaskResult::name, "Unique in its batch."},
       {"command", name_type(), &TaskResult::command, "As a shell takes it."},
       {"ranks", list_type(count_type()), &TaskResult::ranks,
        "The ranks of the job that did it; none where it was not tried again."},
       {"start_s", seconds_type(), &TaskResult::start_s, "Since its sitting of the batch began."},
       {"duration_s", seconds_type(), [](const auto& task) { return task.end.duration_s; },
        "From its ranks' first step to their last."},
       {"sitting", positive_count_type(), &TaskResult::sitting,
        "The call of cg2d batch, by number, that did it."},
       {"beside_other_tasks", flag_type(), &TaskResult::is_beside_others,
        "Other tasks may have run at the same time: no verdict compares such times."},
       {"exit_code", count_type(), [](const auto& task) { return static_cast<int>(task.end.code); }},
       {"status", name_type(), [](const auto& task) { return status_name(task.end.code); }},
       {"reason", line_type(), &TaskResult::reason, "Empty on success."},
       {"messages", list_type(line_type()), [](const auto& task) { return task.end.messages; },
        "Lines that its ranks wrote to stderr."}}};
  return record;
}

/// A result with the document that its command wrote.
struct TaskLine {
  const TaskResult& task;
  Json document;
};

const Record<TaskLine>& line_record() {
  static const Record<TaskLine> record{
      "",
      {{"schema_version", constant_type(batch_schema_version),
        [](const auto& /*line*/) { return batch_schema_version; }},
       part<TaskLine>(
           "task", task_record(), [](const TaskLine& line) -> const auto& { return line.task; }),
       {"result",
        {{"type", {"object", "null"}}},
        &TaskLine::document,
        "The JSON that the command wrote to standard output, by the schema of that command; null: none."},
       {"output", text_type(),
        [](const auto& line) {
          const auto& output = line.task.end.output;
          return output.empty() || !line.document.is_null() ? Json(nullptr) : Json(output);
        },
        "What it wrote to standard output, where that is no JSON.", Presence::if_known}}};
  return record;
}

}  // namespace

std::string TaskEnd::to_text() const {
  return json_text({{"code", static_cast<int>(code)},
                    {"duration_s", duration_s},
                    {"is_over_time", is_over_time},
                    {"output", output},
                    {"messages", messages}});
}

TaskEnd TaskEnd::from_text(const std::string& text) {
  const auto json = json_from(text);
  return {.code = static_cast<ExitCode>(json.at("code").get<int>()),
          .duration_s = json.at("duration_s").get<double>(),
          .is_over_time = json.at("is_over_time").get<bool>(),
          .output = json.at("output").get<std::string>(),
          .messages = json.at("messages").get<std::vector<std::string>>()};
}

std::string TaskResult::reason() const {
  if (end.code == ExitCode::success) return {};
  if (end.is_over_time)
    return fmt::format("stopped after {:.3g} s: --task-time is {:.6g} s", end.duration_s,
                       limit_s.value_or(0.0));
  // The last words of a command are its error.
  constexpr std::string_view speaker = "cg2d: ";
  if (end.messages.empty()) return std::string(status_name(end.code));
  const std::string_view last = end.messages.back();
  return std::string(last.starts_with(speaker) ? last.substr(speaker.size()) : last);
}

std::string task_line(const TaskResult& result) {
  return json_text(json_of(line_record(), {.task = result, .document = document_in(result.end.output)}));
}

FigureType task_type() { return type_of(line_record()); }

std::vector<KnownTask> known_tasks(std::string_view text) {
  std::vector<KnownTask> tasks;
  for (const auto line : lines_of(text)) {
    try {
      const auto task = json_from(line).at("task");
      tasks.push_back({.name = task.at("name").get<std::string>(),
                       .command = task.at("command").get<std::string>(),
                       .sitting = integer_at<int>(task, "sitting")});
    } catch (const nlohmann::json::exception& error) {
      throw InputError(
          fmt::format("line {} is no result of a task ({})", tasks.size() + 1, plain_text(error)));
    }
  }
  return tasks;
}

}  // namespace cg2d
