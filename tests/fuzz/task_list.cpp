// The list of a batch: tasks with unique names, each with a command and as many ranks as there are.

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "cg/commands/batch/task_list.hpp"
#include "fuzz/promise.hpp"
#include "fuzz/targets.hpp"

namespace cg2d::fuzz {

bool take_task_list(std::string_view input) {
  return accepts<InputError>([&] {
    constexpr int most_ranks = 8;
    std::set<std::string> names;
    for (const auto& task : tasks_from(input, {.path = "list", .most_ranks = most_ranks})) {
      promise(names.insert(task.name).second && !task.name.empty(), "names are unique");
      promise(!task.words.empty(), "a task has a command");
      promise(task.rank_count >= 1 && task.rank_count <= most_ranks, "a task has its ranks");
      const auto has_quote = [](const auto& word) { return word.find_first_of("'\"") != std::string::npos; };
      if (std::ranges::none_of(task.words, has_quote))
        promise(words_of(task.command()) == task.words, "a command has the words that it was made of");
    }
  });
}

}  // namespace cg2d::fuzz
