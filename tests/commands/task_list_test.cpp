// The list of a batch: words, settings, and lines that are wrong.

#include "cg/commands/batch/task_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::task_list_test {
namespace {

using Words = std::vector<std::string>;

/// The message of the InputError for a list for 4 ranks; empty: none.
std::string complaint(const std::string& text) {
  try {
    static_cast<void>(tasks_from(text, {.path = "list", .most_ranks = 4}));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
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
  EXPECT_EQ(complaint("ranks=two run\n"), "list:1: ranks 0: must be within 1 ... 4");
  EXPECT_EQ(complaint("nmae=x run\n"),
            "list:1: setting nmae: unknown; valid: name, ranks; did you mean name?");
  EXPECT_EQ(complaint("name= run\n"), "list:1: name=: must not be empty");
  EXPECT_EQ(complaint("run 'x\n"), "list:1: a quote has no end on its line");
  EXPECT_EQ(complaint("name=x\n"),
            "list:1: there is no command; must be [name=NAME] [ranks=N] COMMAND OPTION...");
  EXPECT_EQ(complaint("mpiexec -n 2 cg2d run\n").substr(0, 56),
            "list:1: \"mpiexec\": tasks are not started by a launcher; ");
  EXPECT_EQ(complaint("# nothing\n"),
            "list: holds no task; a line is [name=NAME] [ranks=N] COMMAND OPTION...");
  EXPECT_EQ(complaint("run\nname=x run\nrun\n"),
            "list:3: \"run\" is the name of list:1, too; give one of them another by name=...");
}

}  // namespace
}  // namespace cg2d::task_list_test
