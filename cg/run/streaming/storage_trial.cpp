#include "cg/run/streaming/storage_trial.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cg/base/agreement.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

constexpr std::array<std::int64_t, 6> tried_mebibytes{1, 2, 4, 8, 16, 32};
constexpr std::array tried_depths{2, 4, 6, 8, 12, 16};
constexpr std::int64_t file_bytes_of_node = std::int64_t{256} << 20;

}  // namespace

std::int64_t most_buffer_bytes(std::int64_t memory_bytes) { return memory_bytes * 3 / 16; }

std::vector<std::int64_t> tried_panel_bytes(const StorageTrialConfig& config, comm::RankGroup& group) {
  const auto most = group.minimum(most_buffer_bytes(config.memory_bytes));
  std::vector<std::int64_t> sizes;
  for (const auto size : tried_mebibytes) {
    // The smallest one always: a run takes it, too, however little memory there is.
    if (sizes.empty() || tried_depths.front() * (size << 20) <= most) sizes.push_back(size << 20);
  }
  return sizes;
}

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

}  // namespace cg2d
