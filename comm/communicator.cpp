#include "comm/communicator.hpp"

#include <algorithm>
#include <array>

#include "comm/transports.hpp"

namespace cg2d::comm {

std::span<const TransportRow> transport_table() {
  static const std::array table{
      two_sided_transport(),
      native_transport(),
      put_transport(),
      shared_transport(),
  };
  return table;
}

const TransportRow* find_transport(std::string_view name) {
  const auto table = transport_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const TransportRow& default_transport() { return *find_transport("two-sided"); }

}  // namespace cg2d::comm
