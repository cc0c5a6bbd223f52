// The command line of `cg2d batch`.

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "cg/base/values.hpp"
#include "cg/commands/batch/batch_command.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"

namespace cg2d {
namespace {

void add_batch_options(OptionSet& options, BatchOptions& batch) {
  options.add({"FILE", "FILE",
               "tasks, a command line of run, solve, stencil or check in each line, after name=NAME, ranks=N "
               "or time=TIME where a task needs them"},
              batch.list, {.file = FileUse::reads, .is_required = true});
  options.add({"--ranks-per-task", "N", "ranks of a task that does not say ranks=N", "1"},
              batch.ranks_per_task, {.most = any_count});
  options.add_list({"--vary", "VALUES",
                    "do each task with each of these values, such as \"--shift 10:20:0.5\" or \"--kernel "
                    "scalar,sell\"; may be given several times"},
                   batch.varied, [](const std::string& text) { return varied_option_from("--vary", text); },
                   {.is_repeated = true});
  options.add({"--part", "K/N",
               "do the tasks of one of N equal parts of the list, such as one job of an array", "1/1"},
              batch.part, &list_part_from);
  options.add(
      {"--task-time", "TIME", "stop a task that takes longer, between two of its iterations", "no limit"},
      batch.task_limit_s, &limit_seconds_from);
  options.add_flag("--exclusive", "one task at a time, so that none disturbs the times of another",
                   batch.is_exclusive);
  options.begin_group("Output");
  options.add({"--output", "FILE", "file that gets a line of JSON per task; a batch goes on where it ends",
               "the list's name with .results.jsonl"},
              batch.output, {.file = FileUse::updates, .uses_default_file = true});
  options.add_flag("--fresh", "empty the file first", batch.fresh);
  add_progress_options(options, batch.progress);
}

/// The results stand beside the list; each part has its own.
std::string usual_output(const BatchOptions& batch) {
  const auto part =
      batch.part.count > 1 ? fmt::format(".{}of{}", batch.part.number, batch.part.count) : std::string();
  return std::filesystem::path(batch.list).replace_extension(part + ".results.jsonl").string();
}

void check_batch(BatchOptions& batch, const OptionSet& /*given*/) {
  if (!batch.output.empty()) return;
  if (batch.list.starts_with("/dev/") || batch.list.starts_with("/proc/"))
    throw InputError("--output: {} is no place for the results; name a file for them", batch.list);
  batch.output = usual_output(batch);
}

}  // namespace

SubcommandRow batch_subcommand() {
  return {.name = "batch",
          .description = "hand out many tasks to groups of ranks",
          .examples = {"mpiexec -n 3 cg2d batch tasks.txt",
                       "mpiexec -n 17 cg2d batch tasks.txt --ranks-per-task 4 --task-time 10min"},
          .declare = subcommand_with<BatchOptions, add_batch_options, check_batch, run_batch>};
}

}  // namespace cg2d
