#include "cg/machine/machine_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/embedded_machines.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

constexpr int machine_version = 1;

/// An object of the file with the path to it, for messages, and the clock for keys in clocks.
struct Section {
  const Json& json;
  std::string path;
  double clock_hz = 0.0;

  [[nodiscard]] std::string where(const std::string& key) const {
    return path.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}.{}\"", path, key);
  }
  [[nodiscard]] bool has(const std::string& key) const { return json.contains(key); }

  [[nodiscard]] double number(const std::string& key, double least) const {
    if (!has(key)) throw InputError(fmt::format("{} is missing: a number is needed", where(key)));
    const auto& value = json.at(key);
    if (!value.is_number())
      throw InputError(fmt::format("{} must be a number, not {}", where(key), json_text(value)));
    const auto result = value.get<double>();
    if (!std::isfinite(result) || result < least) {
      throw InputError(
          fmt::format("{} is {}: it must be at least {:g}", where(key), json_text(value), least));
    }
    return result;
  }
  [[nodiscard]] double positive(const std::string& key) const {
    const double result = number(key, 0.0);
    if (result <= 0.0) throw InputError(fmt::format("{} must be greater than 0", where(key)));
    return result;
  }
  [[nodiscard]] int count(const std::string& key, int least) const {
    const double value = number(key, least);
    if (value != std::floor(value) || value > 2147483647.0)
      throw InputError(fmt::format("{} is {}: a whole number is needed", where(key), value));
    return static_cast<int>(value);
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    if (!has(key) || !json.at(key).is_string() || json.at(key).get<std::string>().empty())
      throw InputError(fmt::format("{} is missing: a text is needed", where(key)));
    return json.at(key).get<std::string>();
  }
  [[nodiscard]] Section section(const std::string& key) const {
    if (!has(key) || !json.at(key).is_object())
      throw InputError(fmt::format("{} is missing: an object is needed", where(key)));
    return {.json = json.at(key), .path = path.empty() ? key : path + "." + key, .clock_hz = clock_hz};
  }
  /// The objects of a list.
  [[nodiscard]] std::vector<Section> list(const std::string& key) const {
    if (!has(key) || !json.at(key).is_array() || json.at(key).empty())
      throw InputError(fmt::format("{} is missing: a list with at least one entry is needed", where(key)));
    std::vector<Section> sections;
    for (const auto& entry : json.at(key)) {
      const auto place = fmt::format("{}{}[{}]", path.empty() ? "" : path + ".", key, sections.size());
      if (!entry.is_object()) throw InputError(fmt::format("\"{}\" must be an object", place));
      sections.push_back({.json = entry, .path = place, .clock_hz = clock_hz});
    }
    return sections;
  }

  /// A time under one of two keys, in seconds or in clocks.
  [[nodiscard]] double seconds(const std::string& in_seconds, const std::string& in_clocks) const {
    require_one(in_seconds, in_clocks);
    if (has(in_seconds)) return number(in_seconds, 0.0);
    return number(in_clocks, 0.0) / clock();
  }
  /// A rate under one of two keys, per second or per clock.
  [[nodiscard]] double per_second(const std::string& by_second, const std::string& by_clock) const {
    require_one(by_second, by_clock);
    return has(by_second) ? positive(by_second) : positive(by_clock) * clock();
  }

 private:
  void require_one(const std::string& first, const std::string& second) const {
    if (has(first) == has(second))
      throw InputError(fmt::format("{} or {} is needed, one of the two", where(first), where(second)));
  }
  [[nodiscard]] double clock() const {
    if (clock_hz > 0.0) return clock_hz;
    throw InputError(fmt::format(R"("clock_hz" is missing: "{}" has keys in clocks)", path));
  }
};

comm::SumForm sum_form_from(const Section& network) {
  if (!network.has("sum_form")) return default_sum_form;
  const auto name = network.text("sum_form");
  if (const auto form = find_sum_form(name)) return *form;
  throw InputError(fmt::format("{} is \"{}\": it must be {}", network.where("sum_form"), name,
                               fmt::join(sum_form_names(), " or ")));
}

/// A flag; false where the key is missing.
bool flag_from(const Section& section, const std::string& key) {
  if (!section.has(key)) return false;
  if (!section.json.at(key).is_boolean())
    throw InputError(fmt::format("{} must be true or false", section.where(key)));
  return section.json.at(key).get<bool>();
}

RowLoopCost row_loop_from(const Section& kernel) {
  return {.critical_vector_length = kernel.count("critical_vector_length", 0),
          .row_start_up_s = kernel.seconds("row_start_up_s", "row_start_up_clocks"),
          .seconds_per_nonzero = kernel.seconds("seconds_per_nonzero", "clocks_per_nonzero"),
          .short_row_seconds_per_nonzero =
              kernel.seconds("short_row_seconds_per_nonzero", "short_row_clocks_per_nonzero")};
}

std::vector<RowLengthCost> row_lengths_from(const Section& kernel) {
  std::vector<RowLengthCost> curve;
  for (const auto& point : kernel.list("row_lengths")) {
    curve.push_back({.row_length = point.positive("row_length"),
                     .seconds_per_nonzero = point.positive("seconds_per_nonzero")});
    if (curve.size() > 1 && curve[curve.size() - 2].row_length >= curve.back().row_length)
      throw InputError(fmt::format("{} must be greater than the one before it", point.where("row_length")));
  }
  return curve;
}

std::vector<TransportCost> transports_from(const Section& top) {
  std::vector<TransportCost> transports;
  for (const auto& section : top.list("transports")) {
    TransportCost cost{
        .name = section.text("name"),
        .start_up_s = section.seconds("start_up_s", "start_up_clocks"),
        .bytes_per_s = section.per_second("bytes_per_s", "bytes_per_clock"),
        .add_s_per_element = section.seconds("add_seconds_per_element", "add_clocks_per_element")};
    if (std::ranges::find(transports, cost.name, &TransportCost::name) != transports.end())
      throw InputError(fmt::format("{} is \"{}\" a second time", section.where("name"), cost.name));
    transports.push_back(std::move(cost));
  }
  return transports;
}

KernelCost kernel_cost_from(const Section& kernel) {
  KernelCost cost{.name = kernel.text("name"), .is_symmetric = flag_from(kernel, "symmetric")};
  if (!kernel.has("shapes")) {
    cost.loop = row_loop_from(kernel);
    return cost;
  }
  for (const auto& shape : kernel.list("shapes")) {
    cost.shapes.push_back(
        {.rows = shape.positive("rows"),
         .columns = shape.positive("columns"),
         .nonzeros = shape.positive("nonzeros"),
         .seconds_per_nonzero = shape.positive("seconds_per_nonzero"),
         .dot_s_per_element = shape.number("dot_seconds_per_element", 0.0),
         .update_s_per_element = shape.number("update_seconds_per_element", 0.0),
         .waiting_share = shape.has("waiting_share") ? shape.number("waiting_share", 0.0) : 0.0});
  }
  if (kernel.has("row_lengths")) cost.row_lengths = row_lengths_from(kernel);
  return cost;
}

MachineDescription description_from(const Section& top) {
  MachineDescription machine{.name = top.text("name"),
                             .description = top.has("description") ? top.text("description") : "",
                             .sources = {},
                             .clock_hz = top.clock_hz,
                             .network = {},
                             .vectors = {},
                             .node = {},
                             .default_kernel = top.has("default_kernel") ? top.text("default_kernel") : "",
                             .kernels = {}};
  if (top.has("sources")) machine.sources = top.json.at("sources").get<std::vector<std::string>>();
  const auto network = top.section("network");
  machine.network = {
      .start_up_s = network.seconds("start_up_s", "start_up_clocks"),
      .bytes_per_s = network.per_second("bytes_per_s", "bytes_per_clock"),
      .add_s_per_element = network.seconds("add_seconds_per_element", "add_clocks_per_element"),
      .sum_form = sum_form_from(network),
      .shuffles_kept_pieces = flag_from(network, "shuffles_kept_pieces")};
  if (top.has("transports")) machine.transports = transports_from(top);
  const auto vectors = top.section("vectors");
  machine.vectors = {
      .dot_s_per_element = vectors.seconds("dot_seconds_per_element", "dot_clocks_per_element"),
      .dot_call_s = vectors.has("dot_call_s") ? vectors.number("dot_call_s", 0.0) : 0.0,
      .update_s_per_element = vectors.seconds("update_seconds_per_element", "update_clocks_per_element"),
      .update_call_s = vectors.has("update_call_s") ? vectors.number("update_call_s", 0.0) : 0.0};
  if (top.has("node")) {
    const auto node = top.section("node");
    machine.node = {.ranks = node.count("ranks", 1),
                    .link_bytes_per_s = node.per_second("link_bytes_per_s", "link_bytes_per_clock")};
  }
  for (const auto& kernel : top.list("kernels")) machine.kernels.push_back(kernel_cost_from(kernel));
  if (!machine.default_kernel.empty()) static_cast<void>(machine.kernel(machine.default_kernel));
  if (top.has("calibrated")) {
    const auto calibrated = top.section("calibrated");
    machine.calibrated_ranks = calibrated.count("ranks", 1);
    machine.calibrated_threads = calibrated.count("threads", 1);
    machine.measured = record_in(calibrated.json);
  }
  return machine;
}

MachineDescription description_of(const Json& json, const std::string& path) {
  if (!json.is_object()) throw InputError("a machine description must be a JSON object");
  Section top{.json = json, .path = path};
  if (top.has("clock_hz")) top.clock_hz = top.positive("clock_hz");
  return description_from(top);
}

Json json_of(const KernelCost& kernel) {
  Json json{{"name", kernel.name}, {"symmetric", kernel.is_symmetric}};
  if (kernel.loop) {
    json["critical_vector_length"] = kernel.loop->critical_vector_length;
    json["row_start_up_s"] = kernel.loop->row_start_up_s;
    json["seconds_per_nonzero"] = kernel.loop->seconds_per_nonzero;
    json["short_row_seconds_per_nonzero"] = kernel.loop->short_row_seconds_per_nonzero;
    return json;
  }
  json["shapes"] = Json::array();
  for (const auto& shape : kernel.shapes) {
    json["shapes"].push_back({{"rows", shape.rows},
                              {"columns", shape.columns},
                              {"nonzeros", shape.nonzeros},
                              {"seconds_per_nonzero", shape.seconds_per_nonzero},
                              {"dot_seconds_per_element", shape.dot_s_per_element},
                              {"update_seconds_per_element", shape.update_s_per_element},
                              {"waiting_share", shape.waiting_share}});
  }
  if (kernel.row_lengths.empty()) return json;
  json["row_lengths"] = Json::array();
  for (const auto& point : kernel.row_lengths) {
    json["row_lengths"].push_back(
        {{"row_length", point.row_length}, {"seconds_per_nonzero", point.seconds_per_nonzero}});
  }
  return json;
}

Json json_of(const MachineDescription& machine) {
  const auto& network = machine.network;
  const auto& vectors = machine.vectors;
  Json json{{"name", machine.name}, {"description", machine.description}, {"sources", machine.sources}};
  if (machine.description.empty()) json.erase("description");
  if (machine.clock_hz > 0.0) json["clock_hz"] = machine.clock_hz;
  if (machine.calibrated_ranks > 0)
    json["calibrated"] = {{"ranks", machine.calibrated_ranks}, {"threads", machine.calibrated_threads}};
  if (machine.calibrated_ranks > 0 && !machine.measured.date.empty())
    json["calibrated"]["measured"] = json_of(machine.measured);
  json["network"] = {{"start_up_s", network.start_up_s},
                     {"bytes_per_s", network.bytes_per_s},
                     {"add_seconds_per_element", network.add_s_per_element},
                     {"sum_form", sum_form_name(network.sum_form)},
                     {"shuffles_kept_pieces", network.shuffles_kept_pieces}};
  for (const auto& transport : machine.transports) {
    json["transports"].push_back({{"name", transport.name},
                                  {"start_up_s", transport.start_up_s},
                                  {"bytes_per_s", transport.bytes_per_s},
                                  {"add_seconds_per_element", transport.add_s_per_element}});
  }
  json["vectors"] = {{"dot_seconds_per_element", vectors.dot_s_per_element},
                     {"dot_call_s", vectors.dot_call_s},
                     {"update_seconds_per_element", vectors.update_s_per_element},
                     {"update_call_s", vectors.update_call_s}};
  if (machine.node.ranks > 0)
    json["node"] = {{"ranks", machine.node.ranks}, {"link_bytes_per_s", machine.node.link_bytes_per_s}};
  if (!machine.default_kernel.empty()) json["default_kernel"] = machine.default_kernel;
  json["kernels"] = Json::array();
  for (const auto& kernel : machine.kernels) json["kernels"].push_back(json_of(kernel));
  return json;
}

}  // namespace

double KernelCost::at_row_length(double row_length) const {
  if (row_lengths.empty()) return 1.0;
  const auto above = std::ranges::lower_bound(row_lengths, row_length, {}, &RowLengthCost::row_length);
  if (above == row_lengths.begin()) return above->seconds_per_nonzero;
  const auto& below = *(above - 1);
  if (above == row_lengths.end()) return below.seconds_per_nonzero;
  const double share =
      std::log(row_length / below.row_length) / std::log(above->row_length / below.row_length);
  return below.seconds_per_nonzero + share * (above->seconds_per_nonzero - below.seconds_per_nonzero);
}

MachineDescription MachineDescription::through(std::string_view transport) const {
  MachineDescription machine = *this;
  const auto found = std::ranges::find(transports, transport, &TransportCost::name);
  if (found == transports.end()) return machine;
  machine.network.start_up_s = found->start_up_s;
  machine.network.bytes_per_s = found->bytes_per_s;
  machine.network.add_s_per_element = found->add_s_per_element;
  return machine;
}

bool MachineDescription::has_kernel(std::string_view kernel_name) const {
  return std::ranges::find(kernels, kernel_name, &KernelCost::name) != kernels.end();
}

const KernelCost& MachineDescription::kernel(std::string_view kernel_name) const {
  const auto found = std::ranges::find(kernels, kernel_name, &KernelCost::name);
  if (found != kernels.end()) return *found;
  std::string known;
  for (const auto& candidate : kernels) known += (known.empty() ? "" : ", ") + candidate.name;
  throw InputError(fmt::format("machine {} has no kernel \"{}\"; it describes {}", name, kernel_name, known));
}

const MachineDescription& Machine::for_ranks(int rank_count) const {
  const auto distance = [&](const MachineDescription& condition) {
    if (condition.calibrated_ranks == 0) return 0.0;
    return std::abs(std::log(static_cast<double>(condition.calibrated_ranks) / rank_count));
  };
  return *std::ranges::min_element(conditions, {}, distance);
}

const MachineDescription* Machine::find(int rank_count, int thread_count) const {
  const auto found = std::ranges::find_if(conditions, [&](const auto& condition) {
    return condition.calibrated_ranks == rank_count && condition.calibrated_threads == thread_count;
  });
  return found == conditions.end() ? nullptr : &*found;
}

void Machine::put(MachineDescription condition) {
  std::erase_if(conditions, [&](const auto& known) {
    return known.name == condition.name && known.calibrated_ranks == condition.calibrated_ranks &&
           known.calibrated_threads == condition.calibrated_threads;
  });
  conditions.push_back(std::move(condition));
}

std::optional<Machine> machine_named(const Machine& machine, std::string_view name) {
  Machine named = machine;
  std::erase_if(named.conditions, [&](const auto& condition) { return condition.name != name; });
  return named.conditions.empty() ? std::nullopt : std::optional(std::move(named));
}

Machine parse_machine(std::string_view text) {
  try {
    const auto json = Json::parse(text);
    if (!json.is_object()) throw InputError("a machine description must be a JSON object");
    if (json.value("schema_version", Json()) != machine_version)
      throw InputError(fmt::format("\"schema_version\" must be {}", machine_version));
    Machine machine;
    if (!json.contains("conditions")) {
      machine.conditions.push_back(description_of(json, ""));
      return machine;
    }
    const Section top{.json = json, .path = ""};
    for (const auto& condition : top.list("conditions"))
      machine.conditions.push_back(description_of(condition.json, condition.path));
    return machine;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_machine(const Machine& machine) {
  Json conditions = Json::array();
  for (const auto& condition : machine.conditions) conditions.push_back(json_of(condition));
  return json_text(Json{{"schema_version", machine_version}, {"conditions", std::move(conditions)}}, 2) +
         "\n";
}

std::span<const ShippedMachine> shipped_machines() {
  static constexpr std::array table{ShippedMachine{.name = "cp-pacs", .text = embedded::cp_pacs}};
  return table;
}

Machine find_machine(const std::string& name_or_file) {
  std::string known;
  for (const auto& machine : shipped_machines()) {
    if (machine.name == name_or_file) return parse_machine(machine.text);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", machine.name);
  }
  const auto text = text_of_file(name_or_file);
  if (!text)
    throw InputError(fmt::format("is neither a file nor a machine that comes with cg2d ({})", known));
  return parse_machine(*text);
}

std::optional<std::string> default_machine_path() {
  const auto profile = default_profile_path();
  if (!profile) return std::nullopt;
  return (std::filesystem::path(*profile).parent_path() / "machine.json").string();
}

std::optional<MachineDescription> calibrated_condition(std::string_view processor, int rank_count,
                                                       int thread_count) {
  const auto path = default_machine_path();
  if (!path) return std::nullopt;
  try {
    const auto text = text_of_file(*path);
    if (!text) return std::nullopt;
    auto machine = machine_named(parse_machine(*text), processor);
    if (!machine) return std::nullopt;
    std::erase_if(machine->conditions,
                  [&](const auto& condition) { return condition.calibrated_threads != thread_count; });
    if (machine->conditions.empty()) return std::nullopt;
    return machine->for_ranks(rank_count);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", *path, error.what()));
  }
}

}  // namespace cg2d
