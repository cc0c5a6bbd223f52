// --checkpoint and --restart: the work is saved, and goes on from what was saved. What they do not go with, the section of a result,
// and its lines.

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {

void resolve_checkpoint(const AskedWork& asked) {
  const auto& options = asked.options.features.checkpoint;
  if (options.interval_s && options.folder.empty())
    throw InputError("--checkpoint-interval: goes with --checkpoint DIR, without which nothing is saved");
  for (const auto& [option, folder] :
       {std::pair("--checkpoint", options.folder), std::pair("--restart", options.restart)}) {
    if (folder.empty()) continue;
    require_matrix(asked, option);
    require_classic_form(asked, option);
    if (asked.repeats)  // a checkpoint has the state of one repetition, not the results of others
      throw InputError("{}: goes with one repetition only; leave --repeat and --min-time out", option);
  }
}

void describe_checkpoints(Members& m, CheckpointFacts& facts) {
  m.object_if(
      !facts.folder.empty(), "checkpoints",
      meaning("Only with --checkpoint, and where the work came to its iterations."), [&] {
        std::string chosen_by = facts.is_automatic ? "Young" : "option";
        auto failures_s = facts.is_automatic ? std::optional(assumed_failure_interval_s) : std::nullopt;
        m("folder", facts.folder, not_empty());
        m("count", facts.count, at_least(0, "Written by this run."));
        m("total_s", facts.total_s, at_least(0, "They took that long, as a part of the time."));
        m("write_s", facts.write_s,
          at_least(0, "The last one took that long; before the first one, a rehearsal."));
        m("interval_s", facts.interval_s, at_least(0));
        m("interval_by", chosen_by, meaning("Young: sqrt(2 write_s assumed_failure_interval_s), or option."));
        m("assumed_failure_interval_s", failures_s,
          or_null(positive("Mean time between failures; null where the option names the interval.")));
        m("failure", facts.failure, meaning("Why the last one could not be written; empty where it could."));
        facts.is_automatic = chosen_by == "Young";
      });
}

/// A line about the checkpoints that were written, and one about the last one where it failed.
std::string checkpoint_lines(const CheckpointFacts& facts) {
  if (facts.folder.empty()) return {};
  std::string text =
      fmt::format(" Saved   {} in {}, {:.3g} s of the time; one each {:.4g} s ({})\n",
                  format_count(facts.count, "checkpoint"), facts.folder, facts.total_s, facts.interval_s,
                  facts.is_automatic
                      ? fmt::format("Young's interval for {:.3g} s each and a failure a day", facts.write_s)
                      : "requested");
  if (!facts.failure.empty())
    text += fmt::format(" Warning: the last checkpoint is missing: {}\n", facts.failure);
  return text;
}

void describe(Members& m, FoundCheckpoint& found) {
  m("folder", found.folder, not_empty());
  m("generation", found.generation, at_least(1));
  m("rejected", found.rejected, meaning("Why each newer checkpoint was not taken, newest first."));
}

std::vector<std::string> with_option(std::vector<std::string> command, const std::string& name,
                                     const std::string& value) {
  std::vector<std::string> words;
  for (size_t k = 0; k < command.size(); ++k) {
    if (command[k] == name) {
      ++k;  // its value
    } else if (!command[k].starts_with(name + "=")) {
      words.push_back(std::move(command[k]));
    }
  }
  words.insert(words.end(), {name, value});
  return words;
}

std::string how_to_go_on(const CheckpointOptions& asked, bool is_restarted, int64_t last_generation,
                         const std::string& failure, std::vector<std::string> command) {
  const bool has_saved = last_generation > 0;
  std::string text;
  if (!failure.empty()) text += "; its state is not saved: " + failure;
  if (!has_saved) text += "; no state is saved yet";
  if (!has_saved && !is_restarted) return text + ", so the same command begins anew";
  command = with_option(std::move(command), "--restart", has_saved ? asked.folder : asked.restart);
  return text + "; start this with as many ranks to go on: " + command_text(command);
}

}  // namespace cg2d
