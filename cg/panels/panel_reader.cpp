#include "cg/panels/panel_reader.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

PanelReaderRow uring_panel_reader();
PanelReaderRow thread_panel_reader();

std::span<const PanelReaderRow> panel_reader_table() {
  static const std::array table{uring_panel_reader(), thread_panel_reader()};
  return table;
}

const PanelReaderRow* find_panel_reader(std::string_view name) {
  const auto table = panel_reader_table();
  const auto found = std::ranges::find(table, name, &PanelReaderRow::name);
  return found == table.end() ? nullptr : &*found;
}

const PanelReaderRow& usual_panel_reader() {
  const auto table = panel_reader_table();
  const auto found =
      std::ranges::find_if(table, [](const auto& row) { return row.why_unavailable().empty(); });
  return found == table.end() ? table.back() : *found;
}

}  // namespace cg2d
