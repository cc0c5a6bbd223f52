#include "cg/tuning/tuning_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/machine/physical_bounds.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

constexpr int profile_version = 1;

struct WaitModeRow {
  std::string_view name;
  comm::WaitMode mode;
};

constexpr std::array wait_mode_table{WaitModeRow{.name = "spin", .mode = comm::WaitMode::spin},
                                     WaitModeRow{.name = "yield", .mode = comm::WaitMode::yield},
                                     WaitModeRow{.name = "sleep", .mode = comm::WaitMode::sleep}};

/// The keys of every case. NPB matrices go by the numbers that they are generated from, all others by their
/// hash.
Json json_of(const MatrixKey& matrix, const Configuration& configuration) {
  Json json{{"class", matrix.name}, {"n", matrix.order}};
  if (matrix.nonzer) {
    json["nonzer"] = *matrix.nonzer;
  } else {
    json["pattern_hash"] = fmt::format("{:016x}", matrix.pattern_hash);
  }
  json["grid"] = {{"columns", configuration.grid.columns}, {"rows", configuration.grid.rows}};
  json["threads"] = configuration.thread_count;
  return json;
}

Json json_of(const TunedCase& tuned) {
  Json kernels = Json::array();
  for (const auto& kernel : tuned.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"critical_vector_length", value_or_null(kernel.tuning.critical_vector_length)},
                       {"prefetch_distance", value_or_null(kernel.tuning.prefetch_distance)},
                       {"block_width", value_or_null(kernel.tuning.block_width)},
                       {"step_s", kernel.step_s}});
  }
  auto json = json_of(tuned.matrix, tuned.configuration);
  json["nonzeros_per_rank"] = tuned.nonzeros_per_rank;
  json["kernels"] = std::move(kernels);
  if (!tuned.measured.date.empty()) json["measured"] = json_of(tuned.measured);
  return json;
}

Json json_of(const TransportCase& timed) {
  const auto& [matrix, configuration, node_count, wait_mode] = timed.conditions;
  Json transports = Json::array();
  for (const auto& transport : timed.transports)
    transports.push_back({{"name", transport.name}, {"step_s", transport.step_s}});
  auto json = json_of(matrix, configuration);
  json["nodes"] = node_count;
  json["sum_form"] = sum_form_name(configuration.sum_form);
  json["kernel"] = configuration.kernel;
  json["waiting"] = wait_mode_name(wait_mode);
  json["overlap"] = configuration.overlaps;
  json["ranks_per_node"] = configuration.ranks_per_node;
  json["transports"] = std::move(transports);
  return json;
}

/// The results of cg2d tune.
Json kernels_json(const ProcessorProfile& processor) {
  Json curve = Json::array();
  for (const auto& point : processor.curve) {
    curve.push_back({{"row_length", point.row_length},
                     {"scalar_ns_per_nonzero", point.scalar_ns},
                     {"vector_ns_per_nonzero", point.vector_ns}});
  }
  Json cases = Json::array();
  for (const auto& tuned : processor.cases) cases.push_back(json_of(tuned));
  return {{"critical_vector_length", processor.critical_vector_length.value()},
          {"row_lengths", std::move(curve)},
          {"cases", std::move(cases)}};
}

Json json_of(const ProcessorProfile& processor) {
  Json json = processor.knows_kernels() ? kernels_json(processor) : Json::object();
  if (!processor.measured.date.empty()) json["measured"] = json_of(processor.measured);
  for (const auto& timed : processor.transports) json["transports"].push_back(json_of(timed));
  return json;
}

void require(bool holds, std::string_view what) {
  if (!holds) throw InputError(fmt::format("{} is out of range", what));
}

/// A whole number, at least `least`; empty for null. Throws InputError.
std::optional<int> optional_count(const Json& json, const char* key, int least) {
  const auto& value = json.at(key);
  if (value.is_null()) return std::nullopt;
  const int count = value.get<int>();
  require(count >= least, key);
  return count;
}

int count_at(const Json& json, const char* key, int least) {
  const auto count = optional_count(json, key, least);
  require(count.has_value(), key);
  return *count;
}

double positive_at(const Json& json, const char* key) {
  const auto value = json.at(key).get<double>();
  require(std::isfinite(value) && value > 0.0, key);
  return value;
}

TunedKernel kernel_from(const Json& json) {
  TunedKernel kernel{.name = json.at("name").get<std::string>(),
                     .tuning = {.critical_vector_length = optional_count(json, "critical_vector_length", 0),
                                .prefetch_distance = optional_count(json, "prefetch_distance", 0),
                                .block_width = optional_count(json, "block_width", 1)},
                     .step_s = positive_at(json, "step_s")};
  require(!kernel.tuning.block_width || kernels::is_block_width(*kernel.tuning.block_width), "block_width");
  return kernel;
}

MatrixKey matrix_from(const Json& json) {
  const auto name = json.at("class").get<std::string>();
  const auto order = json.at("n").get<std::int64_t>();
  if (json.contains("nonzer")) return npb_matrix_key(name, order, count_at(json, "nonzer", 1));
  const auto text = json.at("pattern_hash").get<std::string>();
  MatrixKey key{.name = name, .order = order};
  const auto* const end = text.data() + text.size();
  require(std::from_chars(text.data(), end, key.pattern_hash, 16).ptr == end && !text.empty(),
          "pattern_hash");
  return key;
}

comm::ProcessGrid grid_at(const Json& json) {
  const auto& grid = json.at("grid");
  return {.columns = count_at(grid, "columns", 1), .rows = count_at(grid, "rows", 1)};
}

TunedCase case_from(const Json& json) {
  TunedCase tuned{.matrix = matrix_from(json),
                  .configuration = {.grid = grid_at(json), .thread_count = count_at(json, "threads", 1)},
                  .nonzeros_per_rank = positive_at(json, "nonzeros_per_rank"),
                  .kernels = {}};
  for (const auto& kernel : json.at("kernels")) tuned.kernels.push_back(kernel_from(kernel));
  require(!tuned.kernels.empty(), "kernels");
  tuned.measured = record_in(json);
  return tuned;
}

comm::WaitMode wait_mode_at(const Json& json, const char* key) {
  const auto* const row =
      std::ranges::find(wait_mode_table, json.at(key).get<std::string>(), &WaitModeRow::name);
  require(row != wait_mode_table.end(), key);
  return row->mode;
}

TransportCase transport_case_from(const Json& json) {
  const auto sum_form = find_sum_form(json.at("sum_form").get<std::string>());
  require(sum_form.has_value(), "sum_form");
  TransportCase timed;
  timed.conditions = {.matrix = matrix_from(json),
                      .configuration = {.grid = grid_at(json),
                                        .kernel = json.at("kernel").get<std::string>(),
                                        .transport = std::string(automatic_choice),
                                        .sum_form = *sum_form,
                                        .thread_count = count_at(json, "threads", 1),
                                        .overlaps = json.at("overlap").get<bool>(),
                                        .ranks_per_node = count_at(json, "ranks_per_node", 0)},
                      .node_count = count_at(json, "nodes", 1),
                      .wait_mode = wait_mode_at(json, "waiting")};
  for (const auto& transport : json.at("transports")) {
    timed.transports.push_back(
        {.name = transport.at("name").get<std::string>(), .step_s = positive_at(transport, "step_s")});
  }
  require(!timed.transports.empty(), "transports");
  return timed;
}

void read_kernels(const Json& json, ProcessorProfile& processor) {
  processor.critical_vector_length = count_at(json, "critical_vector_length", 0);
  processor.measured = record_in(json);
  for (const auto& point : json.at("row_lengths")) {
    processor.curve.push_back({.row_length = count_at(point, "row_length", 1),
                               .scalar_ns = positive_at(point, "scalar_ns_per_nonzero"),
                               .vector_ns = positive_at(point, "vector_ns_per_nonzero")});
  }
  for (const auto& tuned : json.at("cases")) processor.cases.push_back(case_from(tuned));
}

/// A processor with kernels, transports, or both.
ProcessorProfile processor_from(const Json& json) {
  ProcessorProfile processor;
  const bool has_transports = json.contains("transports");
  if (!has_transports || json.contains("critical_vector_length")) read_kernels(json, processor);
  if (!has_transports) return processor;
  for (const auto& timed : json.at("transports")) processor.transports.push_back(transport_case_from(timed));
  return processor;
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

std::string why_unphysical(const TunedCase& tuned) {
  const double least_s =
      PhysicalBounds::least_element_s * tuned.nonzeros_per_rank / tuned.configuration.thread_count;
  for (const auto& kernel : tuned.kernels) {
    if (kernel.step_s >= least_s) continue;
    return fmt::format("{}: {:.4g} s for a CG step are beyond what a machine can do", kernel.name,
                       kernel.step_s);
  }
  return {};
}

std::string_view wait_mode_name(comm::WaitMode mode) {
  return std::ranges::find(wait_mode_table, mode, &WaitModeRow::mode)->name;
}

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

int remove_measurements(TuningProfile& profile, const std::string& name) {
  if (const auto found = profile.find(name); found != profile.end()) {
    const auto& processor = found->second;
    const auto count = processor.cases.size() + processor.transports.size() + processor.knows_kernels();
    profile.erase(found);
    return static_cast<int>(count);
  }
  std::size_t count = 0;
  for (auto& [_, processor] : profile) {
    count += std::erase_if(processor.cases, [&](const auto& tuned) { return tuned.matrix.name == name; });
    count += std::erase_if(processor.transports,
                           [&](const auto& timed) { return timed.conditions.matrix.name == name; });
  }
  return static_cast<int>(count);
}

TuningProfile parse_profile(std::string_view text) {
  try {
    const auto json = Json::parse(text);
    if (json.at("schema_version") != profile_version) {
      throw InputError(
          fmt::format("it has version {}, not {}", json_text(json.at("schema_version")), profile_version));
    }
    TuningProfile profile;
    for (const auto& [name, processor] : json.at("processors").items())
      profile.emplace(name, processor_from(processor));
    return profile;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_profile(const TuningProfile& profile) {
  Json processors = Json::object();
  for (const auto& [name, processor] : profile) processors[name] = json_of(processor);
  return json_text(Json{{"schema_version", profile_version}, {"processors", std::move(processors)}}, 2) +
         "\n";
}

}  // namespace cg2d
