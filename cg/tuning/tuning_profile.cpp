#include "cg/tuning/tuning_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

constexpr int profile_version = 1;

Json json_of(const TunedCase& tuned) {
  Json kernels = Json::array();
  for (const auto& kernel : tuned.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"critical_vector_length", number_or_null(kernel.tuning.critical_vector_length)},
                       {"prefetch_distance", number_or_null(kernel.tuning.prefetch_distance)},
                       {"block_width", number_or_null(kernel.tuning.block_width)},
                       {"step_s", kernel.step_s}});
  }
  return {
      {"class", tuned.class_name},     {"n", tuned.n},
      {"nonzer", tuned.nonzer},        {"grid", {{"columns", tuned.grid.columns}, {"rows", tuned.grid.rows}}},
      {"threads", tuned.thread_count}, {"nonzeros_per_rank", tuned.nonzeros_per_rank},
      {"kernels", std::move(kernels)}};
}

Json json_of(const TransportCase& timed) {
  const auto& task = timed.task;
  Json transports = Json::array();
  for (const auto& transport : timed.transports)
    transports.push_back({{"name", transport.name}, {"step_s", transport.step_s}});
  return {{"class", task.class_name},
          {"n", task.n},
          {"nonzer", task.nonzer},
          {"grid", {{"columns", task.grid.columns}, {"rows", task.grid.rows}}},
          {"threads", task.thread_count},
          {"nodes", task.node_count},
          {"sum_form", task.sum_form},
          {"kernel", task.kernel},
          {"waiting", task.wait_mode},
          {"overlap", task.overlaps},
          {"ranks_per_node", task.ranks_per_node},
          {"transports", std::move(transports)}};
}

/// What cg2d tune measures.
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
  for (const auto& timed : processor.transports) json["transports"].push_back(json_of(timed));
  return json;
}

void require(bool holds, std::string_view what) {
  if (!holds) throw InputError(fmt::format("{} is out of range", what));
}

/// A whole number of at least `least`, or nothing for null.
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

comm::ProcessGrid grid_at(const Json& json) {
  const auto& grid = json.at("grid");
  return {.columns = count_at(grid, "columns", 1), .rows = count_at(grid, "rows", 1)};
}

TunedCase case_from(const Json& json) {
  TunedCase tuned{.class_name = json.at("class").get<std::string>(),
                  .n = json.at("n").get<std::int64_t>(),
                  .nonzer = count_at(json, "nonzer", 1),
                  .grid = grid_at(json),
                  .thread_count = count_at(json, "threads", 1),
                  .nonzeros_per_rank = positive_at(json, "nonzeros_per_rank"),
                  .kernels = {}};
  for (const auto& kernel : json.at("kernels")) tuned.kernels.push_back(kernel_from(kernel));
  require(!tuned.kernels.empty(), "kernels");
  return tuned;
}

TransportCase transport_case_from(const Json& json) {
  TransportCase timed{.task = {.class_name = json.at("class").get<std::string>(),
                               .n = json.at("n").get<std::int64_t>(),
                               .nonzer = count_at(json, "nonzer", 1),
                               .grid = grid_at(json),
                               .thread_count = count_at(json, "threads", 1),
                               .node_count = count_at(json, "nodes", 1),
                               .sum_form = json.at("sum_form").get<std::string>(),
                               .kernel = json.at("kernel").get<std::string>(),
                               .wait_mode = json.at("waiting").get<std::string>(),
                               .overlaps = json.at("overlap").get<bool>(),
                               .ranks_per_node = count_at(json, "ranks_per_node", 0)},
                      .transports = {}};
  for (const auto& transport : json.at("transports")) {
    timed.transports.push_back(
        {.name = transport.at("name").get<std::string>(), .step_s = positive_at(transport, "step_s")});
  }
  require(!timed.transports.empty(), "transports");
  return timed;
}

void read_kernels(const Json& json, ProcessorProfile& processor) {
  processor.critical_vector_length = count_at(json, "critical_vector_length", 0);
  for (const auto& point : json.at("row_lengths")) {
    processor.curve.push_back({.row_length = count_at(point, "row_length", 1),
                               .scalar_ns = positive_at(point, "scalar_ns_per_nonzero"),
                               .vector_ns = positive_at(point, "vector_ns_per_nonzero")});
  }
  for (const auto& tuned : json.at("cases")) processor.cases.push_back(case_from(tuned));
}

/// Kernels, transports, or both.
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
  for (auto point = curve.rbegin(); point != curve.rend() && point->vector_ns <= point->scalar_ns; ++point) {
    length = point->row_length;
  }
  return length;
}

bool TunedCase::is_about(const Problem& problem, const comm::ProcessGrid& its_grid, int its_threads) const {
  return n == problem.n && nonzer == problem.nonzer && grid == its_grid && thread_count == its_threads;
}

const TunedCase* ProcessorProfile::find_case(const Problem& problem, const comm::ProcessGrid& grid,
                                             int thread_count) const {
  const auto found = std::ranges::find_if(
      cases, [&](const auto& tuned) { return tuned.is_about(problem, grid, thread_count); });
  return found == cases.end() ? nullptr : &*found;
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
  const auto same = std::ranges::find_if(cases, [&](const auto& known) {
    return known.n == tuned.n && known.nonzer == tuned.nonzer && known.grid == tuned.grid &&
           known.thread_count == tuned.thread_count;
  });
  if (same == cases.end()) {
    cases.push_back(std::move(tuned));
  } else {
    *same = std::move(tuned);
  }
}

void ProcessorProfile::put(TransportCase timed) {
  const auto same = std::ranges::find(transports, timed.task, &TransportCase::task);
  if (same == transports.end()) {
    transports.push_back(std::move(timed));
  } else {
    *same = std::move(timed);
  }
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
    // The library's texts begin with a number of its own: "[json.exception.parse_error.101] ...".
    const std::string_view text_of_error(error.what());
    throw InputError(std::string(text_of_error.substr(text_of_error.find(']') + 2)));
  }
}

std::string format_profile(const TuningProfile& profile) {
  Json processors = Json::object();
  for (const auto& [name, processor] : profile) processors[name] = json_of(processor);
  return json_text(Json{{"schema_version", profile_version}, {"processors", std::move(processors)}}, 2) +
         "\n";
}

}  // namespace cg2d
