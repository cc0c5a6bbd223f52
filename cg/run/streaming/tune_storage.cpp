#include "cg/run/streaming/tune_storage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/run/streaming/storage_trial.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

constexpr double mebibyte = 1 << 20;

/// A trial as a measurement that may be taken again. Storage varies by itself: its rates tell nothing of other load.
struct StorageAttempt {
  StorageTrial trial;
  double spread = 0.0;
};

std::string stage_of(std::int64_t panel_bytes) {
  return fmt::format("panels of {:g} MiB", static_cast<double>(panel_bytes) / mebibyte);
}

/// A row for each size of panels, a column for each number of them under way.
std::string table_text(const StorageTrial& trial) {
  std::set<int> depths;
  for (const auto& one : trial.tried) depths.insert(one.reading.depth);
  std::string text = fmt::format(" {:>10}", "MiB");
  for (const int depth : depths) text += fmt::format(" {:>8}", depth);
  std::int64_t panel_bytes = 0;
  for (const auto& one : trial.tried) {
    if (one.reading.panel_bytes != panel_bytes) {
      panel_bytes = one.reading.panel_bytes;
      text += fmt::format("\n {:>10g}", static_cast<double>(panel_bytes) / mebibyte);
    }
    constexpr double gigabyte = 1e9;
    text += fmt::format(" {:>8.2f}", one.bytes_per_s / gigabyte);
  }
  return text + "\n";
}

std::string trial_text(const std::string& folders, const StorageCase& found, const StorageTrial& trial) {
  return fmt::format(
      "\n Storage of {}: GB/s of {}, by the size of panels and the number of them under way\n{}"
      " Chosen: panels of {:g} MiB, {} under way: the least memory of those within a tenth of the "
      "fastest\n{}",
      folders, format_count(found.rank_count, "rank"), table_text(trial),
      static_cast<double>(found.panel_bytes) / mebibyte, found.depth,
      found.measured.disturbance.empty() ? "" : fmt::format(" Disturbed: {}\n", found.measured.disturbance));
}

}  // namespace

ExitCode tune_storage(const StorageTuneOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto environment = inspect_environment(group, 1, options.memory_limit_bytes, progress);
  group.waiter().set_mode(environment.wait_mode());
  std::optional<ProfileFile> file;
  agree_on(group, [&] {
    if (group.rank() == 0 && options.profile.is_used) file.emplace(options.profile);
  });
  const auto output = open_output("", group);
  const auto processor = environment.nodes.front().processor_with_caches();
  const auto print = [&](const std::string& text) {
    write_output(output.get(), group, [&] { return text; });
  };
  print(fmt::format("\n cg2d tune - {}, {}\n", processor, format_count(group.size(), "rank")));
  const auto& folders = options.out_of_core.folders;
  const auto rank_count = environment.node_of(group.rank()).rank_count;
  const StorageTrialConfig config{.folder = options.out_of_core.folder_of(group.rank()),
                                  .memory_bytes = environment.memory_of_rank(group.rank()),
                                  .node_rank_count = rank_count};
  const auto sizes = tried_panel_bytes(config, group);
  std::vector<Work> works;
  works.reserve(sizes.size());
  for (const auto size : sizes) works.push_back({stage_of(size), "storage"});
  PlannedProgress planned(progress, works);
  const std::function<void(const std::string&)> say = [&](const std::string& stage) { planned.say(stage); };
  const RetryConfig retry{.environment = environment,
                          .keeps_disturbed = options.keeps_disturbed || !options.profile.is_used,
                          .say = say};
  const auto names = fmt::format("{}", fmt::join(folders, ", "));
  const auto case_of = [&](const auto& one) {
    const auto& best = one.result.trial.best;
    return StorageCase{.folder = {},
                       .rank_count = rank_count,
                       .panel_bytes = best.reading.panel_bytes,
                       .depth = best.reading.depth,
                       .bytes_per_s = best.bytes_per_s,
                       .measured = one.record};
  };
  const auto measured = measure_or_refuse(
      group, retry, fmt::format("storage of {}", names),
      [&] {
        return StorageAttempt{
            .trial = try_storage(config, sizes, group, [&](std::int64_t size) { say(stage_of(size)); })};
      },
      [](const auto& /*result*/) { return std::string(); },
      [&](const auto& refused) { print(trial_text(names, case_of(refused), refused.result.trial)); });
  auto found = case_of(measured);
  agree_on(group, [&] {
    for (const auto& folder : folders) {
      found.folder = storage_folder(folder);
      if (file) file->add(processor, {.storages = {found}});
    }
  });
  print(trial_text(names, found, measured.result.trial));
  print(file ? fmt::format("\n Profile written to {}; --out-of-core of cg2d run and solve uses it\n",
                           file->path())
             : std::string("\n No profile written (--no-profile)\n"));
  return ExitCode::success;
}

}  // namespace cg2d
