#include "cg/run/checkpoint/checkpoint_feature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/provenance.hpp"

namespace cg2d {
namespace {

constexpr std::string_view checkpoint_option = "--checkpoint";
constexpr std::string_view interval_option = "--checkpoint-interval";
constexpr std::string_view restart_option = "--restart";

void read_checkpoint(const OptionTexts& texts, FeatureSettings& settings) {
  const auto folder_of = [&](std::string_view option) {
    const auto given = texts.find(option);
    return given == texts.end() ? std::string() : given->second;
  };
  CheckpointOptions options{.folder = folder_of(checkpoint_option), .restart = folder_of(restart_option)};
  if (const auto interval = texts.find(interval_option);
      interval != texts.end() && interval->second != "auto") {
    options.interval_s = seconds_from(interval_option, interval->second);
    if (options.folder.empty())
      throw InputError(
          fmt::format("{}: goes with --checkpoint DIR, without which nothing is saved", interval_option));
  }
  settings.set(std::move(options));
}

void resolve_checkpoint(const AskedWork& asked) {
  const auto& options = asked.options.features.of<CheckpointOptions>();
  for (const auto& [option, folder] :
       {std::pair(checkpoint_option, options.folder), std::pair(restart_option, options.restart)}) {
    if (folder.empty()) continue;
    require_matrix(asked, option);
    require_classic_form(asked, option);
    if (asked.repeats)  // a checkpoint has the state of one repetition, not the results of others
      throw InputError(
          fmt::format("{}: goes with one repetition only; leave --repeat and --min-time out", option));
  }
}

void describe_checkpoints(Members& m, FeatureResults& results, WorkKind /*kind*/) {
  describe_section<CheckpointFacts>(
      m, "checkpoints", results, "Only with --checkpoint, and where the work came to its iterations.",
      [&](CheckpointFacts& facts) {
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
std::string checkpoint_lines(const SessionReport& report) {
  const auto* const facts = report.features.find<CheckpointFacts>();
  if (facts == nullptr) return {};
  std::string text =
      fmt::format(" Saved   {} in {}, {:.3g} s of the time; one each {:.4g} s ({})\n",
                  format_count(facts->count, "checkpoint"), facts->folder, facts->total_s, facts->interval_s,
                  facts->is_automatic
                      ? fmt::format("Young's interval for {:.3g} s each and a failure a day", facts->write_s)
                      : "requested");
  if (!facts->failure.empty())
    text += fmt::format(" Warning: the last checkpoint is missing: {}\n", facts->failure);
  return text;
}

}  // namespace

CheckpointFeature::CheckpointFeature(const FeatureContext& context, WorkKind kind)
    : context_(context), options_(context.options.features.of<CheckpointOptions>()) {
  const auto* const command = kind == WorkKind::solve ? "solve" : "run";
  auto choice = choose_restart(options_, command, context_.group);
  found_ = std::move(choice.found);
  std::ranges::move(choice.warnings, std::back_inserter(context_.report.warnings));
  if (choice.claim)
    saver_.emplace(options_.interval_s,
                   CheckpointWriter(std::move(*choice.claim), choice.generation, context_.group));
}

std::string CheckpointFeature::last_words() const {
  const auto& report = context_.report;
  if (!saver_ || !report.provenance) return {};
  return how_to_go_on({.asked = options_,
                       .configuration = report.configuration,
                       .grid_was_open = report.grid_is_automatic,
                       .kernel_was_open = !context_.options.configuration.has_kernel(),
                       .is_restarted = found_.has_value(),
                       .last_generation = saver_->last_generation(),
                       .failure = saver_->facts().failure},
                      report.provenance->command);
}

void describe(Members& m, FoundCheckpoint& found) {
  m("folder", found.folder, not_empty());
  m("generation", found.generation, at_least(1));
  m("rejected", found.rejected, meaning("Why each newer checkpoint was not taken, newest first."));
}

std::vector<std::string> with_option(std::vector<std::string> command, const std::string& name,
                                     const std::string& value) {
  for (auto word = command.begin(); word != command.end();) {
    if (word->starts_with(name + "=")) {
      word = command.erase(word);
    } else if (*word == name) {
      word = command.erase(word);
      if (word != command.end()) word = command.erase(word);
    } else {
      ++word;
    }
  }
  command.insert(command.end(), {name, value});
  return command;
}

std::string how_to_go_on(const InterruptedWork& work, std::vector<std::string> command) {
  const bool has_saved = work.last_generation > 0;
  std::string text;
  if (!work.failure.empty()) text += "; its state is not saved: " + work.failure;
  if (!has_saved) text += "; no state is saved yet";
  if (!has_saved && !work.is_restarted) return text + ", so the same command begins anew";
  if (work.grid_was_open) command = with_option(std::move(command), "--grid", work.configuration.grid.name());
  if (work.kernel_was_open) command = with_option(std::move(command), "--kernel", work.configuration.kernel);
  command = with_option(std::move(command), "--restart", has_saved ? work.asked.folder : work.asked.restart);
  const auto* const from_where = !has_saved             ? " from where it began"
                                 : work.failure.empty() ? ""
                                                        : " from the state before";
  return text +
         fmt::format("; start this with as many ranks to go on{}: {}", from_where, command_text(command));
}

FeatureRow checkpoint_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = checkpoint_option,
                    .value = "DIR",
                    .default_text = "none",
                    .group = "Checkpoints",
                    .help = "save the state to the folder DIR, to go on from after a kill",
                    .file = FileUse::folder},
      FeatureOption{.name = interval_option,
                    .value = "auto|TIME",
                    .default_text = "auto",
                    .group = "Checkpoints",
                    .help = "time between two; auto: Young's formula, sqrt(2 x measured time to save x 24 "
                            "h), which assumes "
                            "one failure of the job a day; also saved when a signal asks to stop"},
      FeatureOption{
          .name = restart_option,
          .value = "DIR",
          .default_text = "none",
          .group = "Checkpoints",
          .help =
              "go on from the newest intact checkpoint in DIR, on any grid; begin anew where --checkpoint "
              "names the same DIR and it has none yet",
          .file = FileUse::folder}};
  return {
      .name = "checkpoint",
      .options = own_options,
      .read = read_checkpoint,
      .is_used =
          [](const SessionOptions& options) { return options.features.of<CheckpointOptions>().is_used(); },
      .resolve = resolve_checkpoint,
      .against_several = "--checkpoint and --restart take one",
      .describe = describe_checkpoints,
      .summary_lines = checkpoint_lines};
}

}  // namespace cg2d
