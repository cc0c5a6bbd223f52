#include "cg/machine/physical_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>

#include "comm/communicator.hpp"

namespace cg2d {
namespace {

using Within = std::function<void(std::string_view what, double value, double least, double most)>;

void check_network(const Within& within, const TransportCost& cost) {
  using Bounds = PhysicalBounds;
  const auto* const transport = comm::find_transport(cost.name);
  const bool copies = transport == nullptr || !transport->reads_in_place;
  within(cost.name + ": the start-up of a message (s)", cost.network.start_up_s, Bounds::least_start_up_s,
         Bounds::most_start_up_s);
  within(cost.name + ": the rate of a message (bytes/s)", cost.network.bytes_per_s, Bounds::least_bytes_per_s,
         copies ? Bounds::most_bytes_per_s : std::numeric_limits<double>::infinity());
  within(cost.name + ": the time of an addition (s)", cost.network.add_s_per_element, Bounds::least_element_s,
         Bounds::most_element_s);
}

}  // namespace

std::string why_unphysical(const MachineDescription& machine, bool ranks_share_cores) {
  std::string fault;  // the first value beyond its bounds
  const auto within = [&](std::string_view what, double value, double least, double most) {
    if (fault.empty() && !(value >= least && value <= most))
      fault = fmt::format("{} is {:.4g}, beyond what a machine can do ({:.4g} ... {:.4g})", what, value,
                          least, most);
  };
  const double least_s = PhysicalBounds::least_element_s / std::max(machine.calibrated_threads, 1);
  const auto element = [&](std::string_view what, double value) {
    within(what, value, least_s, PhysicalBounds::most_element_s);
  };
  check_network(within, {.name = std::string(comm::default_transport().name), .network = machine.network});
  for (const auto& transport : machine.transports) check_network(within, transport);
  element("the time of a dot product per element (s)", machine.vectors.dot_s_per_element);
  element("the time of a vector update per element (s)", machine.vectors.update_s_per_element);
  for (const auto& kernel : machine.kernels) {
    for (const auto& shape : kernel.shapes) {
      element(fmt::format("{}: the time per nonzero (s)", kernel.name), shape.seconds_per_nonzero);
      if (!ranks_share_cores)
        within(fmt::format("{}: waiting for other ranks by the time of the product", kernel.name),
               shape.waiting_share, 0.0, PhysicalBounds::most_waiting_share);
    }
    for (const auto& point : kernel.row_lengths) {
      element(fmt::format("{}: the time per nonzero (s) on rows of {:g}", kernel.name, point.row_length),
              point.seconds_per_nonzero);
    }
  }
  return fault;
}

}  // namespace cg2d
