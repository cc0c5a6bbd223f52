#include "cg/machine/machine_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_fields.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/embedded_machines.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

constexpr int machine_version = 1;

/// One part of a description, with the clock for keys in clocks.
struct CostFields {
  JsonFields& json;
  double clock_hz;

  /// A time under one of two keys, in seconds or in clocks.
  void seconds(const std::string& in_seconds, const std::string& in_clocks, double& value) const {
    if (json.one_of(in_seconds, in_clocks, value, &JsonFields::number) == in_clocks)
      convert(in_clocks, value, value / clock_hz);
  }
  /// A rate under one of two keys, per second or per clock.
  void per_second(const std::string& by_second, const std::string& by_clock, double& value) const {
    if (json.one_of(by_second, by_clock, value, &JsonFields::positive) == by_clock)
      convert(by_clock, value, value * clock_hz);
  }

 private:
  void convert(const std::string& key, double& value, double converted) const {
    if (clock_hz <= 0.0) return json.complain(R"("clock_hz" is needed for keys in clocks)");
    if (!JsonFields::is_computable(converted) || (value > 0.0 && converted <= 0.0))
      return json.complain(
          fmt::format(R"({} cannot be told in seconds with a "clock_hz" of {})", json.where(key), clock_hz));
    value = converted;
  }
};

void describe_software(const CostFields& fields, StepSoftwareCost& software) {
  if (!fields.json.has("software", software.step_s > 0.0 || software.seconds_per_byte > 0.0)) return;
  fields.json.object("software", [&](JsonFields& inner) {
    const CostFields costs{inner, fields.clock_hz};
    costs.seconds("step_s", "step_clocks", software.step_s);
    costs.seconds("seconds_per_byte", "clocks_per_byte", software.seconds_per_byte);
  });
}

void describe(const CostFields& fields, NetworkCost& network) {
  fields.seconds("start_up_s", "start_up_clocks", network.start_up_s);
  fields.per_second("bytes_per_s", "bytes_per_clock", network.bytes_per_s);
  fields.seconds("add_seconds_per_element", "add_clocks_per_element", network.add_s_per_element);
  describe_software(fields, network.software);
}

/// A transport that copies nothing may have no rate: then its bytes take no time.
void describe_transport(const CostFields& fields, NetworkCost& network) {
  auto& json = fields.json;
  const bool has_rate = json.has("bytes_per_s", std::isfinite(network.bytes_per_s));
  if (json.has("bytes_per_clock", false) || has_rate) return describe(fields, network);
  fields.seconds("start_up_s", "start_up_clocks", network.start_up_s);
  fields.seconds("add_seconds_per_element", "add_clocks_per_element", network.add_s_per_element);
  describe_software(fields, network.software);
  network.bytes_per_s = std::numeric_limits<double>::infinity();
}

void describe(const CostFields& fields, VectorCost& vectors) {
  auto& json = fields.json;
  fields.seconds("dot_seconds_per_element", "dot_clocks_per_element", vectors.dot_s_per_element);
  if (json.has("dot_call_s")) json.number("dot_call_s", vectors.dot_call_s);
  fields.seconds("update_seconds_per_element", "update_clocks_per_element", vectors.update_s_per_element);
  if (json.has("update_call_s")) json.number("update_call_s", vectors.update_call_s);
}

void describe(const CostFields& fields, RowLoopCost& loop) {
  fields.json.count("critical_vector_length", loop.critical_vector_length, 0);
  fields.seconds("row_start_up_s", "row_start_up_clocks", loop.row_start_up_s);
  fields.seconds("seconds_per_nonzero", "clocks_per_nonzero", loop.seconds_per_nonzero);
  fields.seconds("short_row_seconds_per_nonzero", "short_row_clocks_per_nonzero",
                 loop.short_row_seconds_per_nonzero);
}

void describe(JsonFields& json, BlockShapeCost& shape) {
  json.positive("rows", shape.rows);
  json.positive("columns", shape.columns);
  json.positive("nonzeros", shape.nonzeros);
  json.positive("seconds_per_nonzero", shape.seconds_per_nonzero);
  json.number("dot_seconds_per_element", shape.dot_s_per_element);
  json.number("update_seconds_per_element", shape.update_s_per_element);
  if (json.has("waiting_share")) json.number("waiting_share", shape.waiting_share);
}

void describe_shapes(JsonFields& json, KernelCost& kernel) {
  json.list("shapes", kernel.shapes, 1, [](auto& inner, auto& shape) { describe(inner, shape); });
  if (!json.has("row_lengths", !kernel.row_lengths.empty())) return;
  double length_before = 0.0;
  json.list("row_lengths", kernel.row_lengths, 1, [&](JsonFields& inner, RowLengthCost& point) {
    if (inner.positive("row_length", point.row_length) && point.row_length <= length_before)
      inner.complain(fmt::format("{} must be greater than the one before it", inner.where("row_length")));
    inner.positive("seconds_per_nonzero", point.seconds_per_nonzero);
    length_before = point.row_length;
  });
}

void describe(const CostFields& fields, KernelCost& kernel) {
  auto& json = fields.json;
  json.text("name", kernel.name);
  if (json.has("symmetric")) json.flag("symmetric", kernel.is_symmetric);
  json.either(
      json.has("shapes", !kernel.loop), [&] { describe_shapes(json, kernel); },
      [&] {
        if (!kernel.loop) kernel.loop.emplace();
        describe(fields, *kernel.loop);
      });
}

void describe(const CostFields& fields, InterconnectCost& interconnect) {
  auto& json = fields.json;
  auto& shape = interconnect.shape;
  const bool has_topology = json.text("topology", shape.topology);
  if (json.has("dimensions", !shape.dimensions.empty())) json.counts("dimensions", shape.dimensions, 1);
  if (const auto fault = why_no_interconnect(shape); has_topology && !fault.empty())
    json.complain(fmt::format("{}: {}", json.where("topology"), fault));
  const bool has_rate = json.has("link_bytes_per_s", interconnect.link_bytes_per_s > 0.0);
  if (json.has("link_bytes_per_clock", false) || has_rate)
    fields.per_second("link_bytes_per_s", "link_bytes_per_clock", interconnect.link_bytes_per_s);
  const bool has_hop = json.has("hop_s", interconnect.hop_s > 0.0);
  if (json.has("hop_clocks", false) || has_hop) fields.seconds("hop_s", "hop_clocks", interconnect.hop_s);
}

/// Members that are needed once in a file, and may be in each description of several: so that whole files can be put together.
void describe_form(JsonFields& json) {
  int version = machine_version;
  if (json.has("schema_version", false) && json.count("schema_version", version, 1) &&
      version != machine_version)
    json.complain(fmt::format("{} must be {}", json.where("schema_version"), machine_version));
  std::string schema;
  if (json.has("$schema", false)) json.text("$schema", schema);  // by which editors know the keys
}

void describe(JsonFields& json, MachineDescription& machine) {
  describe_form(json);
  json.text("name", machine.name);
  if (json.has("description", !machine.description.empty())) json.text("description", machine.description);
  if (json.has("sources")) json.texts("sources", machine.sources);
  if (json.has("clock_hz", machine.clock_hz > 0.0)) json.positive("clock_hz", machine.clock_hz);
  const double clock_hz = machine.clock_hz;
  if (json.has("calibrated", machine.calibrated_ranks > 0)) {
    json.object("calibrated", [&](JsonFields& inner) {
      inner.count("ranks", machine.calibrated_ranks, 1);
      inner.count("threads", machine.calibrated_threads, 1);
      describe(inner, machine.measured);
    });
  }
  json.object("network", [&](JsonFields& inner) {
    describe({inner, clock_hz}, machine.network);
    if (inner.has("sum_form")) inner.name("sum_form", machine.sum_form, sum_form_table());
    if (inner.has("shuffles_kept_pieces")) inner.flag("shuffles_kept_pieces", machine.shuffles_kept_pieces);
  });
  if (json.has("transports", !machine.transports.empty())) {
    json.list("transports", machine.transports, 1, [&](JsonFields& inner, TransportCost& transport) {
      inner.text("name", transport.name);
      describe_transport({inner, clock_hz}, transport.network);
      if (!transport.name.empty() &&
          std::ranges::count(machine.transports, transport.name, &TransportCost::name) > 1)
        inner.complain(fmt::format("{} is \"{}\" a second time", inner.where("name"), transport.name));
    });
  }
  json.object("vectors", [&](JsonFields& inner) { describe({inner, clock_hz}, machine.vectors); });
  if (json.has("node", machine.node.ranks > 0)) {
    json.object("node", [&](JsonFields& inner) {
      inner.count("ranks", machine.node.ranks, 1);
      CostFields{inner, clock_hz}.per_second("link_bytes_per_s", "link_bytes_per_clock",
                                             machine.node.link_bytes_per_s);
      if (!inner.has("network", machine.node.network.has_value())) return;
      if (!machine.node.network) machine.node.network.emplace();
      inner.object("network", [&](JsonFields& fields) {
        describe({fields, clock_hz}, *machine.node.network);
      });
    });
  }
  if (json.has("interconnect", machine.interconnect.has_value())) {
    if (!machine.interconnect) machine.interconnect.emplace();
    json.object("interconnect", [&](JsonFields& inner) {
      describe({inner, clock_hz}, *machine.interconnect);
    });
  }
  if (json.has("outside_phases", machine.outside_s_per_nonzero > 0.0)) {
    json.object("outside_phases", [&](JsonFields& inner) {
      CostFields{inner, clock_hz}.seconds("seconds_per_nonzero", "clocks_per_nonzero",
                                          machine.outside_s_per_nonzero);
    });
  }
  if (json.has("default_kernel", !machine.default_kernel.empty()))
    json.text("default_kernel", machine.default_kernel);
  json.list("kernels", machine.kernels, 1, [&](JsonFields& inner, KernelCost& kernel) {
    describe({inner, clock_hz}, kernel);
  });
}

void describe_conditions(JsonFields& json, Machine& machine) {
  describe_form(json);
  json.list("conditions", machine.conditions, 1, [](auto& inner, auto& one) { describe(inner, one); });
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
  if (found != transports.end()) machine.network = found->network;
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
    const auto json = json_from(text);
    if (json.is_object() && json.value("schema_version", Json()) != machine_version)
      throw InputError(fmt::format("\"schema_version\" must be {}", machine_version));
    Machine machine;
    JsonFields::read(json, [&](JsonFields& fields) {
      if (json.contains("conditions")) return describe_conditions(fields, machine);
      describe(fields, machine.conditions.emplace_back());
    });
    for (const auto& one : machine.conditions) {
      if (!one.default_kernel.empty()) static_cast<void>(one.kernel(one.default_kernel));
    }
    return machine;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_machine(const Machine& machine) {
  Json json{{"schema_version", machine_version}};
  auto fields = JsonFields::writer(json);
  auto written = machine;
  describe_conditions(fields, written);
  return json_text(json, 2) + "\n";
}

FigureType machine_type() {
  MachineDescription machine;
  const auto one =
      named_type("description", JsonFields::schema([&](auto& fields) { describe(fields, machine); }));
  const Json several{{"properties",
                      {{"schema_version", constant_type(machine_version)},
                       {"$schema", text_type()},
                       {"conditions", list_type(one, 1)}}},
                     {"required", {"conditions"}},
                     {"additionalProperties", false}};
  return {{"type", "object"},
          {"required", {"schema_version"}},
          {"properties", {{"schema_version", constant_type(machine_version)}}},
          {"oneOf", Json::array({one, several})}};
}

std::span<const ShippedMachine> shipped_machines() { return embedded::machines; }

std::string shipped_machine_names() {
  std::string names;
  for (const auto& machine : shipped_machines())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", machine.name);
  return names;
}

Machine find_machine(const std::string& name_or_file) {
  try {
    for (const auto& machine : shipped_machines()) {
      if (machine.name == name_or_file) return parse_machine(machine.text);
    }
    if (const auto text = text_of_file(name_or_file)) return parse_machine(*text);
    throw InputError(
        fmt::format("is neither a file nor a machine that comes with cg2d ({})", shipped_machine_names()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("--machine {}: {}", name_or_file, error.what()), error.code());
  }
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
    throw InputError(fmt::format("{}: {}", *path, error.what()), error.code());
  }
}

}  // namespace cg2d
