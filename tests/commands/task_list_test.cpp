// The list of a batch: words, settings, varied options, parts, and lines that are wrong.

#include "cg/commands/batch/task_list.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::task_list_test {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> names_in(const std::vector<Task>& tasks) {
  std::vector<std::string> names;
  for (const auto& task : tasks) names.push_back(task.name);
  return names;
}

/// The message of the InputError that parse() throws; empty: none.
template <typename Parse>
std::string complaint_of(const Parse& parse) {
  try {
    static_cast<void>(parse());
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}
/// That of a list for 4 ranks.
std::string complaint(const std::string& text) {
  return complaint_of([&] { return tasks_from(text, {.path = "list", .most_ranks = 4}); });
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
  const auto tasks = tasks_from("run --class S\n\n name='the second' ranks=3 time=2min cg2d solve a.mtx\r\n",
                                {.path = "list", .ranks_per_task = 2, .most_ranks = 4});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].name, "run --class S");
  EXPECT_EQ(tasks[0].rank_count, 2);
  EXPECT_FALSE(tasks[0].expected_s);
  EXPECT_EQ(tasks[1].name, "the second");
  EXPECT_EQ(tasks[1].rank_count, 3);
  EXPECT_EQ(tasks[1].expected_s, 120.0);
  EXPECT_EQ(tasks[1].words, (Words{"solve", "a.mtx"}));
  EXPECT_EQ(tasks[1].place, "list:3");
}

TEST(TaskListTest, ValuesAreCrossed) {
  const TaskListOptions options{.path = "list",
                                .varied = {varied_option_from("--vary", "--shift 10:11:0.5"),
                                           varied_option_from("--vary", "--kernel scalar,sell")}};
  EXPECT_EQ(
      names_in(tasks_from("name=x run\n", options)),
      (Words{"x --shift 10 --kernel scalar", "x --shift 10 --kernel sell", "x --shift 10.5 --kernel scalar",
             "x --shift 10.5 --kernel sell", "x --shift 11 --kernel scalar", "x --shift 11 --kernel sell"}));
  EXPECT_EQ(varied_option_from("--vary", "--niter 3:1:-1").values, (Words{"3", "2", "1"}));
  EXPECT_EQ(varied_option_from("--vary", "--shift 0:1:0.1").values.size(), 11U);
  for (const auto* const wrong :
       {"--shift", "shift 1,2", "--shift 1:2:0", "--shift 2:1:1", "--shift 1 2", "--shift 0:1:1e-9", "'--a"})
    EXPECT_THROW(static_cast<void>(varied_option_from("--vary", wrong)), InputError) << wrong;
}

TEST(TaskListTest, ValuesThatAreThereTwiceAreTheirOwnFault) {
  const auto complaint_on = [](const std::string& text) {
    return complaint_of([&] { return varied_option_from("--vary", text); });
  };
  EXPECT_EQ(complaint_on("--class S,A,S"),
            "--vary \"--class S,A,S\": S is there twice; give each value once");
  EXPECT_EQ(complaint_on("--shift 1:1.0000000000002:1e-13"),
            "--vary \"--shift 1:1.0000000000002:1e-13\": 1 is there twice; give each value once");
  const TaskListOptions options{
      .path = "list",
      .varied = {varied_option_from("--vary", "--class S"), varied_option_from("--vary", "--class A")}};
  EXPECT_THROW(static_cast<void>(tasks_from("run\n", options)), InputError);
}

TEST(TaskListTest, PartsTogetherAreTheList) {
  const std::string text = "name=a run\nname=b run\nname=c run\nname=d run\nname=e run\n";
  const auto part = [&](const std::string& number) {
    return names_in(tasks_from(text, {.path = "list", .part = list_part_from("--part", number)}));
  };
  EXPECT_EQ(part("1/2"), (Words{"a", "c", "e"}));
  EXPECT_EQ(part("2/2"), (Words{"b", "d"}));
  EXPECT_EQ(part("6/7"), Words{});
  for (const auto* const wrong : {"0/2", "3/2", "2", "1/", "a/2", "1/2/3"})
    EXPECT_THROW(static_cast<void>(list_part_from("--part", wrong)), InputError) << wrong;
}

TEST(TaskListTest, WrongLinesAreNamed) {
  EXPECT_EQ(complaint("run\nranks=5 run\n"), "list:2: ranks 5: must be within 1 ... 4");
  EXPECT_EQ(complaint("ranks=two run\n"), "list:1: ranks 0: must be within 1 ... 4");
  EXPECT_EQ(complaint("nmae=x run\n"),
            "list:1: setting nmae: unknown; valid: name, ranks, time; did you mean name?");
  EXPECT_EQ(complaint("name= run\n"), "list:1: name=: must not be empty");
  EXPECT_EQ(complaint("time=soon run\n").substr(0, 12), "list:1: time");
  EXPECT_EQ(complaint("run 'x\n"), "list:1: a quote has no end on its line");
  EXPECT_EQ(complaint("name=x\n"),
            "list:1: there is no command; must be [name=NAME] [ranks=N] [time=TIME] COMMAND OPTION...");
  EXPECT_EQ(complaint("mpiexec -n 2 cg2d run\n").substr(0, 56),
            "list:1: \"mpiexec\": tasks are not started by a launcher; ");
  EXPECT_EQ(complaint("# nothing\n"),
            "list: holds no task; a line is [name=NAME] [ranks=N] [time=TIME] COMMAND OPTION...");
  EXPECT_EQ(complaint("run\nname=x run\nrun\n"),
            "list:3: \"run\" is the name of list:1, too; give one of them another by name=...");
}

}  // namespace
}  // namespace cg2d::task_list_test
