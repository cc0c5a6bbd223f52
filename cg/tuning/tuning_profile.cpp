#include "cg/tuning/tuning_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/json_fields.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/physical_bounds.hpp"

namespace cg2d {
namespace {

constexpr int profile_version = 1;

constexpr std::array wait_modes{NamedValue<comm::WaitMode>{.name = "spin", .value = comm::WaitMode::spin},
                                NamedValue<comm::WaitMode>{.name = "yield", .value = comm::WaitMode::yield},
                                NamedValue<comm::WaitMode>{.name = "sleep", .value = comm::WaitMode::sleep},
                                NamedValue<comm::WaitMode>{.name = "block", .value = comm::WaitMode::block}};
constexpr std::span<const NamedValue<comm::WaitMode>> wait_mode_table(wait_modes);

/// The members of every case. NPB matrices go by the numbers that they are generated from, all others by
/// their hash.
void describe(JsonFields& json, MatrixKey& matrix, Configuration& configuration) {
  json.text("class", matrix.name);
  json.count("n", matrix.order, 1);
  if (json.has("nonzer", matrix.nonzer.has_value())) {
    int nonzer = matrix.nonzer.value_or(0);
    json.count("nonzer", nonzer, 1);
    matrix = npb_matrix_key(matrix.name, matrix.order, nonzer);
  } else {
    auto hash = fmt::format("{:016x}", matrix.pattern_hash);
    json.text("pattern_hash", hash);
    const auto* const end = hash.data() + hash.size();
    if (std::from_chars(hash.data(), end, matrix.pattern_hash, 16).ptr != end)
      json.complain(
          fmt::format("{} is \"{}\": hexadecimal digits are needed", json.where("pattern_hash"), hash));
  }
  json.object("grid", [&](JsonFields& inner) {
    const bool has_columns = inner.count("columns", configuration.grid.columns, 1);
    if (inner.count("rows", configuration.grid.rows, 1) && has_columns)
      static_cast<void>(grid_of(configuration.grid.columns, configuration.grid.rows));
  });
  json.count("threads", configuration.thread_count, 1);
}

void describe(JsonFields& json, TunedKernel& kernel) {
  auto& tuning = kernel.tuning;
  json.text("name", kernel.name);
  json.count("critical_vector_length", tuning.critical_vector_length, 0);
  json.count("prefetch_distance", tuning.prefetch_distance, 0);
  json.count("block_width", tuning.block_width, 1);
  json.positive("step_s", kernel.step_s);
  if (tuning.block_width && !kernels::is_block_width(*tuning.block_width))
    json.complain(
        fmt::format("{} is {}: no kernel has such blocks", json.where("block_width"), *tuning.block_width));
}

void describe(JsonFields& json, TunedCase& tuned) {
  describe(json, tuned.matrix, tuned.configuration);
  json.positive("nonzeros_per_rank", tuned.nonzeros_per_rank);
  json.list("kernels", tuned.kernels, 1, [](auto& inner, auto& kernel) { describe(inner, kernel); });
  describe(json, tuned.measured);
}

void describe(JsonFields& json, TransportCase& timed) {
  auto& [matrix, configuration, node_count, wait_mode] = timed.conditions;
  describe(json, matrix, configuration);
  json.count("nodes", node_count, 1);
  json.name("sum_form", configuration.sum_form, sum_form_table());
  json.text("kernel", configuration.kernel);
  json.name("waiting", wait_mode, wait_mode_table);
  json.flag("overlap", configuration.overlaps);
  json.count("ranks_per_node", configuration.ranks_per_node, 0);
  if (json.has("cut"))
    json.text("cut", configuration.cut);  // profiles before there were cuts have none, and are measured anew
  json.list("transports", timed.transports, 1, [](JsonFields& inner, TimedCandidate& transport) {
    inner.text("name", transport.name);
    inner.positive("step_s", transport.step_s);
  });
  describe(json, timed.measured);
}

void describe(JsonFields& json, StorageCase& read) {
  json.text("folder", read.folder);
  json.count("ranks_per_node", read.rank_count, 1);
  json.count("panel_bytes", read.panel_bytes, 1);
  json.count("panels_under_way", read.depth, 1);
  json.positive("bytes_per_s", read.bytes_per_s);
  describe(json, read.measured);
}

void describe(JsonFields& json, SpeedCase& timed) {
  auto& [matrix, configuration, ranks, measured] = timed;
  describe(json, matrix, configuration);
  json.text("kernel", configuration.kernel);
  json.list("ranks", ranks, 1, [](JsonFields& inner, PlacedSpeed& rank) {
    inner.text("place", rank.place);
    inner.positive("nonzeros_per_s", rank.nonzeros_per_s);
    inner.positive("share", rank.share);
    if (inner.has("rank_here", true)) inner.count("rank_here", rank.rank_here, 0);
  });
  if (std::ssize(ranks) != configuration.grid.rank_count())
    json.complain(fmt::format("{} has {} entries: the grid has {}", json.where("ranks"), ranks.size(),
                              format_count(configuration.grid.rank_count(), "rank")));
  std::vector<int> standing(ranks.size(), 0);
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    auto& rank = ranks[place].rank_here;
    if (rank < 0) rank = static_cast<int>(place);  // a file of before has no places
    if (rank >= std::ssize(standing) || ++standing[static_cast<std::size_t>(rank)] > 1)
      json.complain(fmt::format("{}: rank {} stands at two places, or there is none of that number",
                                json.where("ranks"), rank));
  }
  describe(json, measured);
}

/// A processor with kernels (the results of cg2d tune), transports, storage, speeds, or several of them.
void describe(JsonFields& json, ProcessorProfile& processor) {
  const bool has_transports = json.has("transports", !processor.transports.empty());
  const bool has_storages = json.has("storage", !processor.storages.empty());
  const bool has_speeds = json.has("speeds", !processor.speeds.empty());
  const bool has_others = has_transports || has_storages || has_speeds;
  if (json.has("critical_vector_length", processor.knows_kernels()) || !has_others) {
    json.count("critical_vector_length", processor.critical_vector_length, 0);
    describe(json, processor.measured);
    json.list("row_lengths", processor.curve, 0, [](JsonFields& inner, RowLengthPoint& point) {
      inner.count("row_length", point.row_length, 1);
      inner.positive("scalar_ns_per_nonzero", point.scalar_ns);
      inner.positive("vector_ns_per_nonzero", point.vector_ns);
    });
    json.list("cases", processor.cases, 0, [](auto& inner, auto& tuned) { describe(inner, tuned); });
  }
  if (has_transports)
    json.list("transports", processor.transports, 0,
              [](auto& inner, auto& timed) { describe(inner, timed); });
  if (has_storages)
    json.list("storage", processor.storages, 0, [](auto& inner, auto& read) { describe(inner, read); });
  if (has_speeds)
    json.list("speeds", processor.speeds, 0, [](auto& inner, auto& timed) { describe(inner, timed); });
}

}  // namespace

int critical_vector_length_of(const std::vector<RowLengthPoint>& curve) {
  int length = never_in_vectors;
  for (auto point = curve.rbegin(); point != curve.rend() && point->vector_ns <= point->scalar_ns; ++point)
    length = point->row_length;
  return length;
}

std::string why_unphysical(const std::vector<RowLengthPoint>& curve, int thread_count) {
  constexpr double clearly_faster = 0.9;
  constexpr int much_longer =
      4;  // nearby lengths may differ: 11 fills two vectors of 8 worse than 8 fills one
  int first_win = 0;
  for (const auto& [length, scalar_ns, vector_ns] : curve) {
    for (const double ns : {scalar_ns, vector_ns}) {
      if (ns * 1e-9 * thread_count >= PhysicalBounds::least_element_s &&
          ns * 1e-9 <= PhysicalBounds::most_element_s)
        continue;
      return fmt::format("{:.4g} ns per nonzero on rows of {} are beyond what a machine can do", ns, length);
    }
    if (first_win == 0 && vector_ns < clearly_faster * scalar_ns) first_win = length;
    if (first_win > 0 && length >= much_longer * first_win && vector_ns > scalar_ns) {
      return fmt::format("vectors are faster on rows of {} and slower on rows of {}: there is no crossing",
                         first_win, length);
    }
  }
  return {};
}

std::string why_unphysical(std::string_view name, double step_s, double nonzeros_per_thread) {
  if (step_s >= PhysicalBounds::least_element_s * nonzeros_per_thread) return {};
  return fmt::format("{}: {:.4g} s for a CG step are beyond what a machine can do", name, step_s);
}

std::string why_unphysical(const TunedCase& tuned) {
  const double nonzeros_per_thread = tuned.nonzeros_per_rank / tuned.configuration.thread_count;
  for (const auto& kernel : tuned.kernels) {
    if (auto fault = why_unphysical(kernel.name, kernel.step_s, nonzeros_per_thread); !fault.empty())
      return fault;
  }
  return {};
}

std::string_view wait_mode_name(comm::WaitMode mode) { return name_in(wait_mode_table, mode); }

bool TunedCase::is_about(const MatrixKey& its_matrix, const Configuration& its_configuration) const {
  return matrix == its_matrix && configuration.grid == its_configuration.grid &&
         configuration.thread_count == its_configuration.thread_count;
}

const TunedCase* ProcessorProfile::find_case(const MatrixKey& matrix,
                                             const Configuration& configuration) const {
  const auto found =
      std::ranges::find_if(cases, [&](const auto& tuned) { return tuned.is_about(matrix, configuration); });
  return found == cases.end() ? nullptr : &*found;
}

const MeasurementRecord& ProcessorProfile::record_for(const MatrixKey& matrix,
                                                      const Configuration& configuration) const {
  const auto* const tuned = find_case(matrix, configuration);
  return tuned != nullptr ? tuned->measured : measured;
}

std::optional<kernels::Tuning> ProcessorProfile::nearest_tuning(std::string_view kernel,
                                                                double nonzeros_per_rank) const {
  std::optional<kernels::Tuning> nearest;
  double least_distance = std::numeric_limits<double>::infinity();
  for (const auto& tuned : cases) {
    const double distance = std::abs(std::log(tuned.nonzeros_per_rank / nonzeros_per_rank));
    const auto found =
        std::ranges::find_if(tuned.kernels, [&](const auto& candidate) { return candidate.name == kernel; });
    if (found == tuned.kernels.end() || distance >= least_distance) continue;
    least_distance = distance;
    nearest = found->tuning;
  }
  return nearest;
}

void ProcessorProfile::put(TunedCase tuned) {
  const auto same = std::ranges::find_if(
      cases, [&](const auto& known) { return known.is_about(tuned.matrix, tuned.configuration); });
  if (same == cases.end()) {
    cases.push_back(std::move(tuned));
  } else {
    *same = std::move(tuned);
  }
}

void ProcessorProfile::put(TransportCase timed) {
  const auto same = std::ranges::find(transports, timed.conditions, &TransportCase::conditions);
  if (same == transports.end()) {
    transports.push_back(std::move(timed));
  } else {
    *same = std::move(timed);
  }
}

void ProcessorProfile::put(StorageCase read) {
  const auto same = std::ranges::find_if(storages, [&](const auto& known) {
    return known.folder == read.folder && known.rank_count == read.rank_count;
  });
  if (same == storages.end()) {
    storages.push_back(std::move(read));
  } else {
    *same = std::move(read);
  }
}

bool SpeedCase::is_like(const SpeedCase& other) const {
  return matrix == other.matrix && configuration.grid == other.configuration.grid &&
         configuration.thread_count == other.configuration.thread_count &&
         configuration.kernel == other.configuration.kernel &&
         std::ranges::equal(ranks, other.ranks, {}, &PlacedSpeed::place, &PlacedSpeed::place);
}

void ProcessorProfile::put(SpeedCase timed) {
  const auto same = std::ranges::find_if(speeds, [&](const auto& known) { return known.is_like(timed); });
  if (same == speeds.end()) {
    speeds.push_back(std::move(timed));
  } else {
    *same = std::move(timed);
  }
}

std::string storage_folder(const std::string& folder) {
  std::error_code error;
  const auto path = std::filesystem::absolute(folder, error).lexically_normal();
  return error ? folder : (path.has_filename() ? path : path.parent_path()).string();
}

int remove_measurements(TuningProfile& profile, const std::string& name) {
  if (const auto found = profile.find(name); found != profile.end()) {
    const auto& processor = found->second;
    const auto count = processor.cases.size() + processor.transports.size() + processor.storages.size() +
                       processor.speeds.size() + processor.knows_kernels();
    profile.erase(found);
    return static_cast<int>(count);
  }
  std::size_t count = 0;
  for (auto& [_, processor] : profile) {
    count += std::erase_if(processor.cases, [&](const auto& tuned) { return tuned.matrix.name == name; });
    count += std::erase_if(processor.transports,
                           [&](const auto& timed) { return timed.conditions.matrix.name == name; });
    count += std::erase_if(processor.speeds, [&](const auto& timed) { return timed.matrix.name == name; });
    count += std::erase_if(processor.storages, [&](const auto& read) { return read.folder == name; });
  }
  return static_cast<int>(count);
}

TuningProfile parse_profile(std::string_view text) {
  try {
    const auto json = json_from(text);
    if (json.at("schema_version") != profile_version) {
      throw InputError(
          fmt::format("it has version {}, not {}", json_text(json.at("schema_version")), profile_version));
    }
    TuningProfile profile;
    JsonFields::read(json, [&](JsonFields& top) {
      static_cast<void>(top.has("schema_version"));
      top.object("processors", [&](JsonFields& processors) {
        for (const auto& [name, processor] : json.at("processors").items())
          processors.object(
              name, [&profile_of = profile[name]](JsonFields& fields) { describe(fields, profile_of); });
      });
    });
    return profile;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_profile(const TuningProfile& profile) {
  Json processors = Json::object();
  for (auto [name, processor] : profile) {
    auto fields = JsonFields::writer(processors[name] = Json::object());
    describe(fields, processor);
  }
  return json_text(Json{{"schema_version", profile_version}, {"processors", std::move(processors)}}, 2) +
         "\n";
}

}  // namespace cg2d
