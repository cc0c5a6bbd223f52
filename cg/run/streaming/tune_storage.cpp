// `cg2d tune --out-of-core`: from a measurement of storage to a table and a profile.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {
namespace {

constexpr double mebibyte = 1 << 20;
constexpr std::array<int64_t, 6> tried_mebibytes{1, 2, 4, 8, 16, 32};
constexpr std::array tried_depths{2, 4, 6, 8, 12, 16};
constexpr int64_t file_bytes_of_node = int64_t{256} << 20;

std::string stage_of(int64_t panel_bytes) {
  return fmt::format("panels of {:g} MiB", static_cast<double>(panel_bytes) / mebibyte);
}

struct StorageTrial {
  const std::string& folder;  ///< this rank's folder
  int node_rank_count = 1;
  int64_t most_bytes = 0;  ///< for buffers, of the rank that has the least memory
  std::vector<int64_t> sizes{};
  std::vector<StorageCase> tried{};  ///< by the size of panels, then by their number
  /// The one with the least memory of those that are about as fast as the fastest. Without a spread: storage varies by itself, and its rates
  /// tell nothing of other load.
  StorageCase best{};
};

/// Reads unlinked temporary files, 256 MiB on each node, with panels of the trial's sizes, several numbers of them under way, all ranks at once. `say`
/// gets the stage of each size before it is tried. Cost: about six seconds. Collective; the same answer on all ranks. Throws RunError (cannot_create,
/// cannot_write).
void try_storage(StorageTrial& trial, comm::RankGroup& group,
                 const std::function<void(const std::string&)>& say) {
  constexpr double reading_s = 0.05;
  constexpr int round_count = 3;
  const auto largest = trial.sizes.back();
  const auto file_bytes =
      std::max(file_bytes_of_node / trial.node_rank_count / largest, int64_t{2}) * largest;
  std::optional<StorageSample> sample;
  agree_on(group, [&] { sample.emplace(trial.folder, file_bytes); });
  trial.tried.clear();
  for (const auto size : trial.sizes) {
    say(stage_of(size));
    for (const int depth : tried_depths) {
      if (depth > tried_depths.front() && depth * size > trial.most_bytes) break;
      const PanelReading reading{.panel_bytes = size, .depth = depth, .checks = true};
      std::vector<double> rates;
      for (int round = 0; round < round_count; ++round) {
        double rate = 0.0;
        group.barrier();
        agree_on(group, [&] { rate = sample->rate(usual_panel_io(), reading, reading_s); });
        rates.push_back(static_cast<double>(group.sum(static_cast<int64_t>(rate))));
      }
      trial.tried.push_back({.folder = {},
                             .rank_count = trial.node_rank_count,
                             .panel_bytes = size,
                             .depth = depth,
                             .bytes_per_s = middle_of(rates) * trial.node_rank_count / group.size()});
    }
  }
  // Storage varies by about a tenth, and memory for buffers is missing elsewhere.
  constexpr double about_as_fast = 0.9;
  const double fastest = std::ranges::max_element(trial.tried, {}, &StorageCase::bytes_per_s)->bytes_per_s;
  auto fast = trial.tried;
  std::erase_if(fast, [&](const auto& one) { return one.bytes_per_s < about_as_fast * fastest; });
  trial.best =
      *std::ranges::min_element(fast, {}, [](const StorageCase& one) { return one.panel_bytes * one.depth; });
}

std::string trial_text(const std::string& folders, const StorageTrial& trial) {
  const auto& best = trial.best;
  Table table;  // a row for each size of panels, a column for each number of them under way
  int64_t panel_bytes = 0;
  for (const auto& one : trial.tried) {
    if (std::exchange(panel_bytes, one.panel_bytes) != one.panel_bytes)
      table.line().number("MiB", "{:g}", static_cast<double>(panel_bytes) / mebibyte);
    constexpr double gigabyte = 1e9;
    table.number(std::to_string(one.depth), "{:.2f}", one.bytes_per_s / gigabyte);
  }
  return fmt::format(
      "\n Storage of {}: GB/s of {}, by the size of panels and the number of them under way\n{}"
      " Chosen: panels of {:g} MiB, {} under way: the least memory of those within a tenth of the "
      "fastest\n{}",
      folders, format_count(best.rank_count, "rank"), table.text(),
      static_cast<double>(best.panel_bytes) / mebibyte, best.depth,
      best.measured.disturbance.empty() ? "" : fmt::format(" Disturbed: {}\n", best.measured.disturbance));
}

}  // namespace

ExitCode tune_storage(const StorageTuneOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto environment = inspect_environment(group, 1, options.memory_limit_bytes, &progress);
  group.waiter().set_mode(environment.wait_mode());
  std::string file;  // of rank 0
  agree_on(group, [&] {
    if (group.rank() == 0) file = writable_profile(options.profile);
  });
  const auto print = [&](const std::string& text) { write_output("", group, [&] { return text; }); };
  const auto processor = environment.nodes.front().processor_with_caches();
  print(fmt::format("\n cg2d tune - {}, {}\n", processor, format_count(group.size(), "rank")));
  const auto& folders = options.out_of_core.folders;
  const auto memory_bytes = environment.memory_of_rank(group.rank());
  StorageTrial trial{.folder = folder_of_rank(folders, group.rank()),
                     .node_rank_count = environment.node_of(group.rank()).rank_count,
                     .most_bytes = group.minimum(most_buffer_bytes(memory_bytes))};
  std::vector<Work> works;
  for (const auto size : tried_mebibytes) {
    // The smallest one always: a run takes it, too, however little memory there is.
    if (!works.empty() && tried_depths.front() * (size << 20) > trial.most_bytes) continue;
    trial.sizes.push_back(size << 20);
    works.push_back({stage_of(trial.sizes.back()), "storage"});
  }
  PlannedProgress planned(progress, works);
  const std::function<void(const std::string&)> say = [&](const std::string& stage) { planned.say(stage); };
  const auto names = fmt::format("{}", fmt::join(folders, ", "));
  measure_or_refuse(group, {.name = fmt::format("storage of {}", names),
                            .environment = environment,
                            .keeps_disturbed = options.profile.takes_disturbed(),
                            .say = say,
                            .record = trial.best.measured,
                            .measure = [&] { try_storage(trial, group, say); },
                            .why_unphysical = [] { return std::string(); },
                            .show = [&] { print(trial_text(names, trial)); }});
  agree_on(group, [&] {
    for (const auto& folder : folders) {
      trial.best.folder = storage_folder(folder);
      if (!file.empty()) add_to_profile(file, processor, {.storages = {trial.best}});
    }
  });
  print(trial_text(names, trial));
  print(profile_text(file, "--out-of-core of cg2d run and solve uses it"));
  return ExitCode::success;
}

}  // namespace cg2d
