#include "cg/commands/batch/task_journal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/json_values.hpp"

namespace cg2d {
namespace {

constexpr std::string_view batch_writer = "another batch";
constexpr double longest_unsynced_s = 1.0;

/// Names of tasks, which may hold any letter, as lines.
std::vector<std::string> begun_tasks(std::string_view text) {
  std::vector<std::string> names;
  for (const auto line : lines_of(text.substr(0, complete_lines(text)))) {
    try {
      names.push_back(json_from(line).get<std::string>());
    } catch (const nlohmann::json::exception&) {
      throw InputError("it holds no names of tasks");
    }
  }
  return names;
}

}  // namespace

std::string under_way_path_of(const std::string& path) { return path + ".under-way"; }

TaskJournal::TaskJournal(const std::string& path, bool fresh) try
    : path_(path),
      results_(path_, batch_writer, fresh),
      under_way_(under_way_path_of(path), batch_writer, fresh) {
  const std::string_view text = results_.text();
  known_ = known_tasks(text.substr(0, complete_lines(text)));
  begun_ = begun_tasks(under_way_.text());
  results_.drop_cut_line();  // the first change: the file is known to be a batch's
  under_way_.drop_cut_line();
  for (const auto& task : known_) sitting_ = std::max(sitting_, task.sitting + 1);
} catch (const InputError& error) {
  throw InputError(
      fmt::format("--output {}: {}; --fresh starts the file anew, or name another one", path, error.what()));
}

bool TaskJournal::has_result(const Task& task) const {
  const auto found = std::ranges::find(known_, task.name, &KnownTask::name);
  if (found == known_.end()) return false;
  if (found->command != task.command())
    throw InputError(
        fmt::format("{}: \"{}\" has a result of another command in {} ({}); give it another name, or "
                    "start the results anew with --fresh",
                    task.place, task.name, path_, found->command));
  return true;
}

int TaskJournal::end_count(const Task& task) const {
  return static_cast<int>(std::ranges::count(begun_, task.name));
}

void TaskJournal::begin(const Task& task) { under_way_.append(json_text(task.name)); }

void TaskJournal::keep(const TaskResult& result) {
  results_.append(task_line(result));
  if (since_sync_.seconds() < longest_unsynced_s) return;
  results_.sync();
  since_sync_ = Stopwatch();
}

void TaskJournal::close() {
  results_.sync();
  under_way_.remove();
}

}  // namespace cg2d
