// The list of a batch: words, settings, and lines that are wrong.

#include "cg/commands/batch/task_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"

namespace cg2d::task_list_test {
namespace {

using Words = std::vector<std::string>;

/// The message for a list for 4 ranks.
std::string complaint(const std::string& text) {
  return test::message_of([&] { static_cast<void>(tasks_from(text, {.path = "list", .most_ranks = 4})); });
}

TEST(TaskListTest, WordsAreThoseOfAShell) {
  EXPECT_EQ(words_of("  run --class  S\t# a comment"), (Words{"run", "--class", "S"}));
  EXPECT_EQ(words_of(R"(solve "a b".mtx 'c "d"' --x='' e#f)"),
            (Words{"solve", "a b.mtx", "c \"d\"", "--x=", "e#f"}));
  EXPECT_EQ(words_of("''"), Words{""});
  EXPECT_EQ(words_of("# run"), Words{});
  EXPECT_FALSE(words_of("run 'a"));
}

TEST(TaskListTest, SettingsStandBeforeTheCommand) {
  const auto tasks = tasks_from("run --class S\n\n name='the second' ranks=3 cg2d solve a.mtx\r\n",
                                {.path = "list", .ranks_per_task = 2, .most_ranks = 4});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].name, "run --class S");
  EXPECT_EQ(tasks[0].rank_count, 2);
  EXPECT_EQ(tasks[1].name, "the second");
  EXPECT_EQ(tasks[1].rank_count, 3);
  EXPECT_EQ(tasks[1].words, (Words{"solve", "a.mtx"}));
  EXPECT_EQ(tasks[1].place, "list:3");
}

TEST(TaskListTest, WrongLinesAreNamed) {
  EXPECT_EQ(complaint("run\nranks=5 run\n"), "list:2: ranks 5: must be within 1 ... 4");
  EXPECT_EQ(
      test::message_of([] { tasks_from("run\n", {.path = "list", .ranks_per_task = 5, .most_ranks = 4}); }),
      "list:1: ranks 5: must be within 1 ... 4");
  EXPECT_EQ(complaint("ranks=two run\n"), "list:1: ranks 0: must be within 1 ... 4");
  EXPECT_EQ(complaint("nmae=x run\n"),
            "list:1: setting nmae: unknown; valid: name, ranks; did you mean name?");
  EXPECT_EQ(complaint("name= run\n"), "list:1: name=: must not be empty");
  EXPECT_EQ(complaint("run 'x\n"), "list:1: a quote has no end on its line");
  EXPECT_EQ(complaint("name=x\xff run\n"), "list:1: name=x\xef\xbf\xbd: is no UTF-8");
  EXPECT_EQ(complaint("name=x\n"),
            "list:1: there is no command; must be [name=NAME] [ranks=N] COMMAND OPTION...");
  EXPECT_EQ(complaint("mpiexec -n 2 cg2d run\n").substr(0, 56),
            "list:1: \"mpiexec\": tasks are not started by a launcher; ");
  EXPECT_EQ(complaint("# nothing\n"),
            "list: holds no task; a line is [name=NAME] [ranks=N] COMMAND OPTION...");
  EXPECT_EQ(complaint("run\nname=x run\nrun\n"),
            "list:3: \"run\" is the name of list:1, too; give one of them another by name=...");
}

// ---------------------------------------------------------------- the order in which a batch hands out tasks, in simulated time

/// Does all tasks, each in its time. Their starts, in their order. Fails where a worker gets two at once, a task the wrong number, or a lonely
/// one company.
std::vector<TaskStart> simulate(const std::vector<Task>& tasks, const std::vector<double>& times,
                                const std::vector<int>& nodes) {
  TaskQueue queue(tasks, nodes);
  std::vector<TaskStart> starts;
  std::multimap<double, size_t> ends;
  std::map<size_t, std::vector<int>> workers_of;
  std::set<int> busy;
  double now = 0.0;
  while (true) {
    while (const auto start = queue.next()) {
      EXPECT_EQ(std::ssize(start->workers), tasks[start->task].rank_count);
      EXPECT_TRUE(std::ranges::is_sorted(start->workers));
      for (const int worker : start->workers) EXPECT_TRUE(busy.insert(worker).second) << "worker " << worker;
      workers_of[start->task] = start->workers;
      ends.emplace(now + times[start->task], start->task);
      starts.push_back(*start);
    }
    if (queue.is_idle()) break;
    for (const auto& [end, task] : ends) EXPECT_TRUE(!tasks[task].is_alone || ends.size() == 1);
    const auto [end, task] = *ends.begin();
    ends.erase(ends.begin());
    now = end;
    for (const int worker : workers_of[task]) busy.erase(worker);
    queue.end(task);
  }
  EXPECT_EQ(starts.size(), tasks.size());
  return starts;
}

std::vector<size_t> order_of(const std::vector<TaskStart>& starts) {
  std::vector<size_t> order;
  for (const auto& start : starts) order.push_back(start.task);
  return order;
}

TEST(TaskQueueTest, WideThenListedThenAlone) {
  const std::vector<Task> tasks{{}, {.is_alone = true}, {.rank_count = 2}, {}, {}, {.is_alone = true}};
  EXPECT_EQ(order_of(simulate(tasks, {1, 9, 1, 5, 3, 2}, {0, 0})), (std::vector<size_t>{2, 0, 3, 4, 1, 5}));
}

TEST(TaskQueueTest, TasksStayOnANodeWhereTheyFit) {
  const std::vector<int> nodes{0, 0, 0, 1, 1, 1, 1};
  const auto starts = simulate({{.rank_count = 4}, {.rank_count = 3}}, {1, 1}, nodes);
  EXPECT_EQ(starts[0].workers, (std::vector{3, 4, 5, 6}));
  EXPECT_EQ(starts[1].workers, (std::vector{0, 1, 2}));
  EXPECT_EQ(simulate({{.rank_count = 5}}, {1}, nodes)[0].workers, (std::vector{0, 1, 2, 3, 4}));
}

TEST(TaskQueueTest, GroupsOfRanksComeAgain) {
  const std::vector<Task> tasks(30, {.rank_count = 2});
  std::vector<double> times;
  for (int k = 0; k < 30; ++k) times.push_back(1.0 + 0.37 * (k % 5));
  std::set<std::vector<int>> groups;
  for (const auto& start : simulate(tasks, times, {0, 0, 0, 0, 0, 0})) groups.insert(start.workers);
  EXPECT_EQ(groups, (std::set<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}}));
}

TEST(TaskQueueTest, TooFewWorkersGetALaterTask) {
  const auto starts = simulate({{.rank_count = 3}, {.rank_count = 3}, {}}, {1, 1, 1}, {0, 0, 0, 0});
  EXPECT_EQ(order_of(starts), (std::vector<size_t>{0, 2, 1}));
}

TEST(TaskQueueTest, AStoppedQueueBeginsNothing) {
  TaskQueue queue(std::vector<Task>(2), {0});
  const auto first = queue.next();
  ASSERT_TRUE(first);
  queue.stop();
  queue.end(first->task);
  EXPECT_FALSE(queue.next());
  EXPECT_TRUE(queue.is_idle());
}

}  // namespace
}  // namespace cg2d::task_list_test
