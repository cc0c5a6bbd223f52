#include "cg/commands/batch/task_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/storage/line_file.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/provenance.hpp"

namespace cg2d {
namespace {

constexpr std::string_view line_form = "[name=NAME] [ranks=N] [time=TIME] COMMAND OPTION...";
constexpr std::string_view blanks = " \t\r\v\f";
/// More values of one option are a slip of the pen.
constexpr double most_values = 1e6;

/// Takes "name=x", "ranks=4" and "time=90s" off the front of the words.
void take_settings(Task& task, const TaskListOptions& options) {
  while (!task.words.empty()) {
    const auto& word = task.words.front();
    const auto equals = word.find('=');
    if (equals == std::string::npos || word.starts_with('-')) return;
    const auto name = word.substr(0, equals);
    const auto value = word.substr(equals + 1);
    require_known("setting", name, {"name", "ranks", "time"});
    if (name == "name") {
      if (value.empty()) throw InputError("name=: must not be empty");
      task.name = value;
    } else if (name == "ranks") {
      task.rank_count = number_from<int>(value).value_or(0);
      require_within("ranks", task.rank_count, options.most_ranks);
    } else {
      task.expected_s = seconds_from("time", value);
    }
    task.words.erase(task.words.begin());
  }
}

/// The tasks of a line, one for each combination of the varied values, of which the last option's change fastest; none in a blank one.
std::vector<Task> tasks_of_line(std::string_view line, const TaskListOptions& options) {
  auto words = words_of(line);
  if (!words) throw InputError("a quote has no end on its line");
  if (words->empty()) return {};
  Task task{.name = {}, .words = std::move(*words), .rank_count = options.ranks_per_task};
  take_settings(task, options);
  if (!task.words.empty() && task.words.front() == "cg2d") task.words.erase(task.words.begin());
  if (task.words.empty()) throw InputError("there is no command; must be {}", line_form);
  if (task.words.front().starts_with("mpi") || task.words.front() == "srun")
    throw InputError("\"{}\": tasks are not started by a launcher; must be {}", task.words.front(),
                     line_form);
  std::vector<Task> tasks{task};
  for (const auto& [option, values] : options.varied) {
    std::vector<Task> more;
    for (const auto& given : tasks) {
      for (const auto& value : values) {
        auto& added = more.emplace_back(given);
        added.words.insert(added.words.end(), {option, value});
        if (!added.name.empty()) added.name += fmt::format(" {} {}", option, value);
      }
    }
    tasks = std::move(more);
  }
  for (auto& each : tasks) {
    if (each.name.empty()) each.name = each.command();
  }
  return tasks;
}

std::vector<std::string> range_of(const std::string& text, double first, double last, double step) {
  const auto count = std::floor((last - first) / step * (1.0 + 1e-12) + 1e-9) + 1.0;
  if (!(count >= 1.0 && count <= most_values))
    throw InputError("{}: must be FIRST:LAST:STEP that reaches LAST from FIRST in at most {} steps", text,
                     most_values);
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(count));
  while (static_cast<double>(values.size()) < count)
    values.push_back(fmt::format("{:.12g}", first + static_cast<double>(values.size()) * step));
  return values;
}

}  // namespace

std::string Task::command() const { return command_text(words); }

ListPart list_part_from(const std::string& option, const std::string& text) {
  const auto numbers = split_at(text, '/');
  const ListPart part{.number = number_from<int>(numbers.front()).value_or(0),
                      .count = number_from<int>(numbers.back()).value_or(0)};
  if (numbers.size() != 2 || part.number < 1 || part.number > part.count)
    throw InputError("{} {}: must be K/N with 1 <= K <= N, as in 3/8", option, text);
  return part;
}

VariedOption varied_option_from(const std::string& option, const std::string& text) {
  const auto words = words_of(text);
  if (!words || words->size() != 2 || !words->front().starts_with("--"))
    throw InputError(
        "{} \"{}\": must be an option and its values, as in \"--shift 10:20:0.5\" or \"--kernel "
        "scalar,sell\"",
        option, text);
  const auto& values = words->back();
  auto parts = split_at(values, ':');
  if (parts.size() != 3) parts.assign(3, {});
  const auto first = number_from<double>(parts[0]);
  const auto last = number_from<double>(parts[1]);
  const auto step = number_from<double>(parts[2]);
  VariedOption varied{.option = words->front(),
                      .values = first && last && step
                                    ? range_of(fmt::format("{} \"{}\"", option, text), *first, *last, *step)
                                    : split_at(values, ',')};
  auto ordered = varied.values;
  std::ranges::sort(ordered);
  if (const auto twice = std::ranges::adjacent_find(ordered); twice != ordered.end())
    throw InputError("{} \"{}\": {} is there twice; give each value once", option, text, *twice);
  return varied;
}

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
  for (const auto& [option, values] : options.varied) {
    if (std::ranges::count(options.varied, option, &VariedOption::option) > 1)
      throw InputError("--vary: {} is varied twice; give all of its values to one --vary", option);
  }
  std::vector<Task> all;
  const auto lines = lines_of(text);
  for (size_t k = 0; k < lines.size(); ++k) {
    const auto place = fmt::format("{}:{}", options.path, k + 1);
    try {
      for (auto& task : tasks_of_line(lines[k], options)) {
        task.place = place;
        all.push_back(std::move(task));
      }
    } catch (const InputError& error) {
      throw InputError("{}: {}", place, error.what());
    }
  }
  if (all.empty()) throw InputError("{}: holds no task; a line is {}", options.path, line_form);
  std::map<std::string_view, const Task*> known;
  std::vector<Task> mine;
  for (size_t k = 0; k < all.size(); ++k) {
    const auto [earlier, is_new] = known.emplace(all[k].name, &all[k]);
    if (!is_new)
      throw InputError("{}: \"{}\" is the name of {}, too; give one of them another by name=...",
                       all[k].place, all[k].name, earlier->second->place);
    if (k % static_cast<size_t>(options.part.count) + 1 == static_cast<size_t>(options.part.number))
      mine.push_back(all[k]);
  }
  return mine;
}

// ---------------------------------------------------------------- the order

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
  std::vector<size_t> by_speed(speeds.size());
  std::iota(by_speed.begin(), by_speed.end(), size_t{0});
  std::ranges::stable_sort(by_speed, std::ranges::greater(), [&](size_t worker) { return speeds[worker]; });
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
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  std::ranges::stable_sort(waiting_, {}, [this](size_t task) { return rank_in_queue(tasks_[task]); });
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
  for (size_t worker = 0; worker < places_.size(); ++worker) {
    if (!is_free_[worker]) continue;
    for (const int speed_class : {places_[worker].speed_class, any_class})
      groups[{speed_class, places_[worker].node}].push_back(static_cast<int>(worker));
  }
  const auto best = std::ranges::min_element(groups, {}, [&](const auto& group) {
    return std::tuple(std::ssize(group.second) < count, group.first.first, group.second.size());
  });
  if (std::ssize(best->second) >= count) return neighbours_among(best->second, count);
  std::vector<std::vector<int>> nodes;
  for (const auto& [key, workers] : groups) {
    if (key.first == any_class) nodes.push_back(workers);
  }
  std::ranges::stable_sort(nodes, {}, &std::vector<int>::size);
  std::vector<int> chosen;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    chosen.insert(chosen.end(), node->begin(), node->end());
  chosen.resize(static_cast<size_t>(count));
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
