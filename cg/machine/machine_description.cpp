#include "cg/machine/machine_description.hpp"

#include <fmt/ranges.h>

#include <cmath>

#include "cg/base/describe_json.hpp"
#include "cg/machine/embedded_machines.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

constexpr int machine_version = 1;

/// Parts of a description, with the clock for members in clocks.
struct Costs {
  Members& m;
  double clock_hz;

  /// A time or a rate under one of two names, in seconds or in clocks: "start_up_s" or "start_up_clocks", "bytes_per_s" or
  /// "bytes_per_clock". The first is written.
  void operator()(std::string_view name, double& value) const {
    const bool is_rate = name.ends_with("per_s");
    const auto note = is_rate ? positive_cost() : cost();
    const auto in_clocks = name_in_clocks(name);
    const bool is_in_seconds = m.has(name);
    const bool is_in_clocks = m.has(in_clocks);
    if (m.reads() && is_in_seconds == is_in_clocks)
      return m.complain(fmt::format("{} or {} is needed, one of the two", m.where(name), m.where(in_clocks)));
    if (is_in_seconds) m.if_given(name, value, true, note);
    if (m.writes() || !is_in_clocks) return;
    m.if_given(in_clocks, value, false, note);
    if (!m.reads()) return;
    if (clock_hz <= 0.0) return m.complain(R"("clock_hz" is needed for keys in clocks)");
    const double converted = is_rate ? value * clock_hz : value / clock_hz;
    if (!is_computable(converted) || (value > 0.0 && converted <= 0.0))
      return m.complain(fmt::format(R"({} cannot be told in seconds with a "clock_hz" of {})",
                                    m.where(in_clocks), clock_hz));
    value = converted;
  }
  /// One that may be missing. Whether it is there: written, or in the file.
  bool if_given(std::string_view name, double& value, bool is_written) const {
    const bool is_there = m.writes() ? is_written : m.has(name) || m.has(name_in_clocks(name));
    if (is_there) (*this)(name, value);
    return is_there;
  }

 private:
  static std::string name_in_clocks(std::string_view name) {
    std::string text(name);
    constexpr std::string_view seconds = "seconds";
    if (const auto place = text.find(seconds); place != std::string::npos)
      return text.replace(place, seconds.size(), "clocks");
    text.pop_back();  // the unit, s
    return text + (name.ends_with("per_s") ? "clock" : "clocks");
  }
};

/// A transport that copies nothing may lack a rate: then its bytes take no time.
void describe_network(const Costs& costs, NetworkCost& network, bool may_lack_rate = false) {
  costs("start_up_s", network.start_up_s);
  if (!may_lack_rate)
    costs("bytes_per_s", network.bytes_per_s);
  else if (!costs.if_given("bytes_per_s", network.bytes_per_s, std::isfinite(network.bytes_per_s)))
    network.bytes_per_s = std::numeric_limits<double>::infinity();
  costs("add_seconds_per_element", network.add_s_per_element);
  costs.m.object_if(network.software_step_s > 0.0 || network.software_s_per_byte > 0.0, "software", {}, [&] {
    costs("step_s", network.software_step_s);
    costs("seconds_per_byte", network.software_s_per_byte);
  });
}

/// By measured shapes, or by its loop.
void describe_kernel(const Costs& costs, KernelCost& kernel) {
  auto& m = costs.m;
  m("name", kernel.name, not_empty());
  m.if_given("symmetric", kernel.is_symmetric, true);
  const bool has_shapes = m.writes() ? !kernel.loop : m.has("shapes");
  m.way([&] {
    if (has_shapes) {
      m.list("shapes", kernel.shapes, {.fewest = 1}, [&](BlockShapeCost& shape, size_t /*index*/) {
        m("rows", shape.rows, positive_cost());
        m("columns", shape.columns, positive_cost());
        m("nonzeros", shape.nonzeros, positive_cost());
        m("seconds_per_nonzero", shape.seconds_per_nonzero, positive_cost());
        m("dot_seconds_per_element", shape.dot_s_per_element, cost());
        m("update_seconds_per_element", shape.update_s_per_element, cost());
        m.if_given("waiting_share", shape.waiting_share, true, cost());
      });
      double length_before = 0.0;
      m.list_if_any(
          "row_lengths", kernel.row_lengths, {.fewest = 1}, [&](RowLengthCost& point, size_t /*index*/) {
            m("row_length", point.row_length, positive_cost());
            m("seconds_per_nonzero", point.seconds_per_nonzero, positive_cost());
            if (m.reads() && point.row_length <= length_before)
              m.complain(fmt::format("{} must be greater than the one before it", m.where("row_length")));
            length_before = point.row_length;
          });
    }
    if (has_shapes && (m.writes() || m.reads())) return;
    auto& loop = kernel.loop ? *kernel.loop : kernel.loop.emplace();
    m("critical_vector_length", loop.critical_vector_length, at_least(0));
    costs("row_start_up_s", loop.row_start_up_s);
    costs("seconds_per_nonzero", loop.seconds_per_nonzero);
    costs("short_row_seconds_per_nonzero", loop.short_row_seconds_per_nonzero);
  });
}

}  // namespace

void describe(Members& m, MachineDescription& machine) {
  // Needed once in a file, and perhaps in each description of several: so that whole files can be put together.
  int version = machine_version;
  std::string schema;
  m.if_given("schema_version", version, false, at_least(1));
  if (version != machine_version)
    m.complain(fmt::format("{} must be {}", m.where("schema_version"), machine_version));
  m.if_given("$schema", schema, false);  // by which editors know the members
  m("name", machine.name, not_empty());
  m.if_given("description", machine.description, !machine.description.empty(), not_empty());
  m.if_given("sources", machine.sources, true);
  m.if_given("clock_hz", machine.clock_hz, machine.clock_hz > 0.0, positive_cost());
  const Costs costs{m, machine.clock_hz};
  m.object_if(machine.calibrated_ranks > 0, "calibrated", {}, [&] {
    m("ranks", machine.calibrated_ranks, at_least(1));
    m("threads", machine.calibrated_threads, at_least(1));
    describe_measured(m, machine.measured);
  });
  m.object("network", [&] {
    describe_network(costs, machine.network);
    m.one_of("sum_form", machine.sum_form, sum_form_table(), {}, true);
    m.if_given("shuffles_kept_pieces", machine.shuffles_kept_pieces, true);
  });
  m.list_if_any(
      "transports", machine.transports, {.fewest = 1}, [&](TransportCost& transport, size_t /*index*/) {
        m("name", transport.name, not_empty());
        describe_network(costs, transport.network, true);
        if (m.reads() && std::ranges::count(machine.transports, transport.name, &TransportCost::name) > 1)
          m.complain(fmt::format("{} is \"{}\" a second time", m.where("name"), transport.name));
      });
  m.object("vectors", [&, &vectors = machine.vectors] {
    costs("dot_seconds_per_element", vectors.dot_s_per_element);
    m.if_given("dot_call_s", vectors.dot_call_s, true, cost());
    costs("update_seconds_per_element", vectors.update_s_per_element);
    m.if_given("update_call_s", vectors.update_call_s, true, cost());
  });
  m.object_if(machine.node.ranks > 0, "node", {}, [&, &node = machine.node] {
    m("ranks", node.ranks, at_least(1));
    costs("link_bytes_per_s", node.link_bytes_per_s);
    m.object_if(node.network, "network", {}, [&](NetworkCost& network) { describe_network(costs, network); });
  });
  m.object_if(machine.interconnect, "interconnect", {}, [&](InterconnectCost& interconnect) {
    auto& shape = interconnect.shape;
    m("topology", shape.topology, not_empty());
    m.if_given("dimensions", shape.dimensions, !shape.dimensions.empty(), at_least(1));
    if (m.reads() && !shape.topology.empty()) {
      if (const auto fault = why_no_interconnect(shape); !fault.empty())
        m.complain(fmt::format("{}: {}", m.where("topology"), fault));
    }
    costs.if_given("link_bytes_per_s", interconnect.link_bytes_per_s, interconnect.link_bytes_per_s > 0.0);
    costs.if_given("hop_s", interconnect.hop_s, interconnect.hop_s > 0.0);
  });
  m.object_if(machine.outside_s_per_nonzero > 0.0, "outside_phases", {},
              [&] { costs("seconds_per_nonzero", machine.outside_s_per_nonzero); });
  m.if_given("default_kernel", machine.default_kernel, !machine.default_kernel.empty(), not_empty());
  m.list("kernels", machine.kernels, {.fewest = 1},
         [&](KernelCost& kernel, size_t /*index*/) { describe_kernel(costs, kernel); });
}

void describe(Members& m, Machine& machine) {
  m.constant("schema_version", machine_version);
  std::string schema;
  m.if_given("$schema", schema, false);
  m("conditions", machine.conditions, {.fewest = 1});
}

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
  if (const auto* const found = row_named(transports, transport)) machine.network = found->network;
  return machine;
}

bool MachineDescription::has_kernel(std::string_view kernel_name) const {
  return row_named(kernels, kernel_name) != nullptr;
}

const KernelCost& MachineDescription::kernel(std::string_view kernel_name) const {
  if (const auto* const found = row_named(kernels, kernel_name)) return *found;
  throw InputError("machine {} has no kernel \"{}\"; it describes {}", name, kernel_name,
                   fmt::join(names_of(kernels), ", "));
}

const MachineDescription& Machine::for_ranks(int rank_count) const {
  const auto distance = [&](const MachineDescription& condition) {
    if (condition.calibrated_ranks == 0) return 0.0;
    return std::abs(std::log(static_cast<double>(condition.calibrated_ranks) / rank_count));
  };
  return *std::ranges::min_element(conditions, {}, distance);
}

void Machine::put(MachineDescription condition) {
  std::erase_if(conditions, [&](const auto& known) {
    return known.name == condition.name && known.calibrated_ranks == condition.calibrated_ranks &&
           known.calibrated_threads == condition.calibrated_threads;
  });
  conditions.push_back(std::move(condition));
}

Machine parse_machine(std::string_view text) {
  try {
    const auto json = json_from(text);
    if (json.is_object() && json.value("schema_version", Json()) != machine_version)
      throw InputError("\"schema_version\" must be {}", machine_version);
    const bool is_one = !json.is_object() || !json.contains("conditions");
    auto machine =
        is_one ? Machine{.conditions = {from_json<MachineDescription>(json)}} : from_json<Machine>(json);
    for (const auto& one : machine.conditions) {
      if (!one.default_kernel.empty()) static_cast<void>(one.kernel(one.default_kernel));
    }
    return machine;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(plain_text(error));
  }
}

std::string format_machine(const Machine& machine) { return document_text(machine); }

std::span<const ShippedMachine> shipped_machines() { return embedded::machines; }

std::string shipped_machine_names() {
  return fmt::format("{}", fmt::join(names_of(shipped_machines()), ", "));
}

Machine find_machine(const std::string& name_or_file) {
  try {
    if (const auto* const shipped = row_named(shipped_machines(), name_or_file))
      return parse_machine(shipped->text);
    if (const auto text = text_of_file(name_or_file)) return parse_machine(*text);
    throw InputError("is neither a file nor a machine that comes with cg2d ({})", shipped_machine_names());
  } catch (const InputError& error) {
    throw InputError(fmt::format("--machine {}: {}", name_or_file, error.what()), error.code());
  }
}

std::string why_unphysical(const MachineDescription& machine, bool ranks_share_cores) {
  using Bounds = PhysicalBounds;
  std::string fault;  // the first value beyond its bounds
  const auto within = [&](std::string_view what, double value, double least, double most) {
    if (fault.empty() && !(value >= least && value <= most))
      fault = fmt::format("{} is {:.4g}, beyond what a machine can do ({:.4g} ... {:.4g})", what, value,
                          least, most);
  };
  auto networks = machine.transports;
  networks.insert(networks.begin(),
                  {.name = std::string(comm::default_transport().name), .network = machine.network});
  for (const auto& [name, network] : networks) {
    const auto* const transport = comm::find_transport(name);
    const bool copies = transport == nullptr || !transport->reads_in_place;
    within(name + ": the start-up of a message (s)", network.start_up_s, Bounds::least_start_up_s,
           Bounds::most_start_up_s);
    within(name + ": the rate of a message (bytes/s)", network.bytes_per_s, Bounds::least_bytes_per_s,
           copies ? Bounds::most_bytes_per_s : std::numeric_limits<double>::infinity());
    within(name + ": the time of an addition (s)", network.add_s_per_element, Bounds::least_element_s,
           Bounds::most_element_s);
  }
  const auto element = [&](std::string_view what, double value) {
    within(what, value, Bounds::least_element_s / std::max(machine.calibrated_threads, 1),
           Bounds::most_element_s);
  };
  element("the time of a dot product per element (s)", machine.vectors.dot_s_per_element);
  element("the time of a vector update per element (s)", machine.vectors.update_s_per_element);
  for (const auto& kernel : machine.kernels) {
    for (const auto& shape : kernel.shapes) {
      element(fmt::format("{}: the time per nonzero (s)", kernel.name), shape.seconds_per_nonzero);
      if (!ranks_share_cores)
        within(fmt::format("{}: waiting for other ranks by the time of the product", kernel.name),
               shape.waiting_share, 0.0, Bounds::most_waiting_share);
    }
    for (const auto& point : kernel.row_lengths)
      element(fmt::format("{}: the time per nonzero (s) on rows of {:g}", kernel.name, point.row_length),
              point.seconds_per_nonzero);
  }
  return fault;
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
    auto machine = parse_machine(*text);
    std::erase_if(machine.conditions, [&](const auto& condition) {
      return condition.name != processor || condition.calibrated_threads != thread_count;
    });
    return machine.conditions.empty() ? std::nullopt : std::optional(machine.for_ranks(rank_count));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", *path, error.what()), error.code());
  }
}

}  // namespace cg2d
