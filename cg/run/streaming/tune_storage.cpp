// `cg2d tune --out-of-core`: from a measurement of storage to a table and a profile.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/panels/panel_io.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/tuning/trial.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

constexpr double mebibyte = 1 << 20;
constexpr std::array<std::int64_t, 6> tried_mebibytes{1, 2, 4, 8, 16, 32};
constexpr std::array tried_depths{2, 4, 6, 8, 12, 16};
constexpr std::int64_t file_bytes_of_node = std::int64_t{256} << 20;

/// One way to read, and what all ranks of a node got by it together.
struct TriedReading {
  PanelReading reading;
  double bytes_per_s = 0.0;
};

struct StorageTrial {
  std::vector<TriedReading> tried;  ///< by the size of panels, then by their number
  TriedReading best;  ///< the one with the least memory of those that are about as fast as the fastest
  /// Without a spread: storage varies by itself, and its rates tell nothing of other load.
  MeasurementRecord measured{};
};

struct StorageTrialConfig {
  const std::string& folder;  ///< this rank's folder
  /// Memory of this rank, as StreamedBlockParts; its buffers get a part of it.
  std::int64_t memory_bytes = 0;
  int node_rank_count = 1;
};

/// The sizes of panels that are tried. The same on all ranks: those for which the rank with the least memory has room. Collective.
std::vector<std::int64_t> tried_panel_bytes(const StorageTrialConfig& config, comm::RankGroup& group) {
  const auto most = group.minimum(most_buffer_bytes(config.memory_bytes));
  std::vector<std::int64_t> sizes;
  for (const auto size : tried_mebibytes) {
    // The smallest one always: a run takes it, too, however little memory there is.
    if (sizes.empty() || tried_depths.front() * (size << 20) <= most) sizes.push_back(size << 20);
  }
  return sizes;
}

/// Reads unlinked temporary files, 256 MiB on each node, with panels of these sizes, several numbers of them under way, all ranks at once. `say`
/// gets each size before it is tried. Cost: about six seconds. Collective; the same answer on all ranks. Throws RunError (cannot_create,
/// cannot_write).
StorageTrial try_storage(const StorageTrialConfig& config, const std::vector<std::int64_t>& sizes,
                         comm::RankGroup& group, const std::function<void(std::int64_t)>& say) {
  constexpr double reading_s = 0.05;
  constexpr int round_count = 3;
  const auto most = group.minimum(most_buffer_bytes(config.memory_bytes));
  const auto largest = sizes.back();
  const auto file_bytes =
      std::max(file_bytes_of_node / config.node_rank_count / largest, std::int64_t{2}) * largest;
  std::optional<StorageSample> sample;
  agree_on(group, [&] { sample.emplace(config.folder, file_bytes); });
  const auto measured = [&](const PanelReading& reading) {
    std::vector<double> rates;
    for (int round = 0; round < round_count; ++round) {
      double rate = 0.0;
      group.barrier();
      agree_on(group, [&] { rate = sample->rate(usual_panel_io(), reading, reading_s); });
      rates.push_back(static_cast<double>(group.sum(static_cast<std::int64_t>(rate))));
    }
    return middle_of(rates) * config.node_rank_count / group.size();
  };
  StorageTrial trial;
  for (const auto size : sizes) {
    say(size);
    for (const int depth : tried_depths) {
      const PanelReading reading{.panel_bytes = size, .depth = depth, .checks = true};
      if (depth > tried_depths.front() && depth * size > most) break;
      trial.tried.push_back({.reading = reading, .bytes_per_s = measured(reading)});
    }
  }
  // Storage varies by about a tenth, and memory for buffers is missing elsewhere.
  constexpr double about_as_fast = 0.9;
  const double fastest = std::ranges::max_element(trial.tried, {}, &TriedReading::bytes_per_s)->bytes_per_s;
  const auto buffers_of = [](const TriedReading& one) { return one.reading.panel_bytes * one.reading.depth; };
  auto fast = trial.tried;
  std::erase_if(fast, [&](const auto& one) { return one.bytes_per_s < about_as_fast * fastest; });
  trial.best = *std::ranges::min_element(fast, {}, buffers_of);
  return trial;
}

std::string stage_of(std::int64_t panel_bytes) {
  return fmt::format("panels of {:g} MiB", static_cast<double>(panel_bytes) / mebibyte);
}

/// A row for each size of panels, a column for each number of them under way.
std::string table_text(const StorageTrial& trial) {
  Table table;
  std::int64_t panel_bytes = 0;
  for (const auto& [reading, bytes_per_s] : trial.tried) {
    if (std::exchange(panel_bytes, reading.panel_bytes) != reading.panel_bytes)
      table.line().number("MiB", "{:g}", static_cast<double>(panel_bytes) / mebibyte);
    constexpr double gigabyte = 1e9;
    table.number(std::to_string(reading.depth), "{:.2f}", bytes_per_s / gigabyte);
  }
  return table.text();
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
  std::optional<std::string> file;
  agree_on(group, [&] {
    if (group.rank() == 0 && options.profile.is_used) file = writable_profile(options.profile);
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
  StorageTrial trial;
  const auto found_case = [&] {
    return StorageCase{.folder = {},
                       .rank_count = rank_count,
                       .panel_bytes = trial.best.reading.panel_bytes,
                       .depth = trial.best.reading.depth,
                       .bytes_per_s = trial.best.bytes_per_s,
                       .measured = trial.measured};
  };
  const auto say_size = [&](std::int64_t size) { say(stage_of(size)); };
  measure_or_refuse(group, retry,
                    {.name = fmt::format("storage of {}", names),
                     .record = trial.measured,
                     .measure = [&] { trial = try_storage(config, sizes, group, say_size); },
                     .why_unphysical = [] { return std::string(); }},
                    [&] { print(trial_text(names, found_case(), trial)); });
  auto found = found_case();
  agree_on(group, [&] {
    for (const auto& folder : folders) {
      found.folder = storage_folder(folder);
      if (file) add_to_profile(*file, processor, {.storages = {found}});
    }
  });
  print(trial_text(names, found, trial));
  print(file ? fmt::format("\n Profile written to {}; --out-of-core of cg2d run and solve uses it\n", *file)
             : std::string("\n No profile written (--no-profile)\n"));
  return ExitCode::success;
}

}  // namespace cg2d
