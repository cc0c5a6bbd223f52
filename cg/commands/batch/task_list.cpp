#include "cg/commands/batch/task_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/provenance.hpp"

namespace cg2d {
namespace {

constexpr std::string_view line_form = "[name=NAME] [ranks=N] COMMAND OPTION...";
constexpr std::string_view blanks = " \t\r\v\f";

/// Takes "name=x" and "ranks=4" off the front of the words.
void take_settings(Task& task) {
  while (!task.words.empty()) {
    const auto& word = task.words.front();
    const auto equals = word.find('=');
    if (equals == std::string::npos || word.starts_with('-')) return;
    const auto name = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    require_known("setting", name, {"name", "ranks"});
    if (name == "name") {
      if (value.empty()) throw InputError("name=: must not be empty");
      task.name = value;
    } else {
      task.rank_count = number_from<int>(value).value_or(0);
    }
    task.words.erase(task.words.begin());
  }
}

/// The task of a line; none in a blank one.
std::optional<Task> task_of_line(std::string_view line, const TaskListOptions& options) {
  auto words = words_of(line);
  if (!words) throw InputError("a quote has no end on its line");
  if (words->empty()) return std::nullopt;
  for (const auto& word : *words) {  // messages between ranks, and results, are JSON
    if (const auto text = text_in_json(word); text != word) throw InputError("{}: is no UTF-8", text);
  }
  Task task{.words = std::move(*words), .rank_count = options.ranks_per_task};
  take_settings(task);
  require_within("ranks", task.rank_count, options.most_ranks);
  if (!task.words.empty() && task.words.front() == "cg2d") task.words.erase(task.words.begin());
  if (task.words.empty()) throw InputError("there is no command; must be {}", line_form);
  if (task.words.front().starts_with("mpi") || task.words.front() == "srun")
    throw InputError("\"{}\": tasks are not started by a launcher; must be {}", task.words.front(),
                     line_form);
  if (task.name.empty()) task.name = task.command();
  return task;
}

}  // namespace

std::string Task::command() const { return command_text(words); }

std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = 0;
  for (const char letter : line) {
    const bool is_quoted = quote != 0;
    if (is_quoted && letter == quote) {
      quote = 0;
      continue;
    }
    if (!is_quoted && blanks.find(letter) != std::string_view::npos) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word && letter == '#') break;
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (!is_quoted && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else {
      words.back() += letter;
    }
  }
  return quote == 0 ? std::optional(std::move(words)) : std::nullopt;
}

std::vector<Task> tasks_from(std::string_view text, const TaskListOptions& options) {
  std::vector<Task> tasks;
  std::map<std::string, std::string> places;  // by the tasks' names
  const auto lines = lines_of(text);
  for (size_t k = 0; k < lines.size(); ++k) {
    const auto place = fmt::format("{}:{}", options.path, k + 1);
    try {
      auto task = task_of_line(lines[k], options);
      if (!task) continue;
      const auto [earlier, is_new] = places.emplace(task->name, place);
      if (!is_new)
        throw InputError("\"{}\" is the name of {}, too; give one of them another by name=...", task->name,
                         earlier->second);
      task->place = place;
      tasks.push_back(std::move(*task));
    } catch (const InputError& error) {
      throw InputError("{}: {}", place, error.what());
    }
  }
  if (tasks.empty()) throw InputError("{}: holds no task; a line is {}", options.path, line_form);
  return tasks;
}

// ---------------------------------------------------------------- the order

namespace {

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

TaskQueue::TaskQueue(std::vector<Task> tasks, std::vector<int> nodes)
    : tasks_(std::move(tasks)),
      nodes_(std::move(nodes)),
      waiting_(tasks_.size()),
      is_free_(nodes_.size(), true) {
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  std::ranges::stable_sort(waiting_, {}, [this](size_t task) {
    return std::tuple(tasks_[task].is_last, tasks_[task].is_alone, -tasks_[task].rank_count);
  });
}

std::optional<TaskStart> TaskQueue::next() {
  const auto task = std::ranges::find_if(waiting_, [this](size_t each) { return may_begin(tasks_[each]); });
  if (task == waiting_.end()) return std::nullopt;
  const TaskStart start{.task = *task, .workers = free_workers(tasks_[*task].rank_count)};
  for (const int worker : start.workers) is_free_[static_cast<size_t>(worker)] = false;
  waiting_.erase(task);
  under_way_.push_back(start);
  return start;
}

void TaskQueue::end(size_t task) {
  const auto ended = std::ranges::find(under_way_, task, &TaskStart::task);
  for (const int worker : ended->workers) is_free_[static_cast<size_t>(worker)] = true;
  under_way_.erase(ended);
}

bool TaskQueue::may_begin(const Task& task) const {
  const auto is_lonely = [&](const TaskStart& start) { return tasks_[start.task].is_alone; };
  if ((task.is_alone && !is_idle()) || std::ranges::any_of(under_way_, is_lonely)) return false;
  return std::ranges::count(is_free_, true) >= task.rank_count;
}

/// Those of the node with the fewest that suffice; else of all.
std::vector<int> TaskQueue::free_workers(int count) const {
  std::vector<int> all;
  std::map<int, std::vector<int>> by_node;
  for (size_t worker = 0; worker < nodes_.size(); ++worker) {
    if (!is_free_[worker]) continue;
    all.push_back(static_cast<int>(worker));
    by_node[nodes_[worker]].push_back(static_cast<int>(worker));
  }
  const auto* chosen = &all;
  for (const auto& [node, workers] : by_node) {
    if (std::ssize(workers) >= count && workers.size() < chosen->size()) chosen = &workers;
  }
  return neighbours_among(*chosen, count);
}

}  // namespace cg2d
