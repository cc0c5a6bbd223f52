#pragma once

// The costs of the messages of one rank of a described machine.

#include "cg/machine/machine_description.hpp"

namespace cg2d {

/// Elements are doubles. A message without elements costs nothing.
class MessageCost {
 public:
  static constexpr auto element_bytes = static_cast<double>(sizeof(double));

  MessageCost(const MachineDescription& machine, int rank) : machine_(machine), rank_(rank) {}

  /// Whether both are on one node, and messages there have costs of their own.
  [[nodiscard]] bool is_within_node(int partner) const {
    const auto& node = machine_.node;
    return node.network && partner / node.ranks == rank_ / node.ranks;
  }
  [[nodiscard]] const NetworkCost& network_to(int partner) const {
    return is_within_node(partner) ? *machine_.node.network : machine_.network;
  }
  /// Beside the wire, in a step of a collection or a summation.
  [[nodiscard]] double software_s(int partner, double elements) const {
    const auto& cost = network_to(partner).software;
    return elements > 0.0 ? cost.step_s + elements * element_bytes * cost.seconds_per_byte : 0.0;
  }
  [[nodiscard]] double addition_s(double elements) const {
    return elements * machine_.network.add_s_per_element;
  }
  [[nodiscard]] bool shuffles_kept_pieces() const { return machine_.shuffles_kept_pieces; }

 private:
  const MachineDescription& machine_;
  int rank_;
};

}  // namespace cg2d
