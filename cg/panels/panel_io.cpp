#include "cg/panels/panel_io.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

PanelIoRow uring_panel_io();
PanelIoRow thread_panel_io();

std::span<const PanelIoRow> panel_io_table() {
  static const std::array table{uring_panel_io(), thread_panel_io()};
  return table;
}

const PanelIoRow* find_panel_io(std::string_view name) {
  const auto table = panel_io_table();
  const auto found = std::ranges::find(table, name, &PanelIoRow::name);
  return found == table.end() ? nullptr : &*found;
}

const PanelIoRow& usual_panel_io() {
  const auto table = panel_io_table();
  const auto found =
      std::ranges::find_if(table, [](const auto& row) { return row.why_unavailable().empty(); });
  return found == table.end() ? table.back() : *found;
}

}  // namespace cg2d
