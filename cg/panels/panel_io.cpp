#include "cg/panels/panel_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "cg/base/values.hpp"

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
  constexpr const char* variable = "CG2D_READER";
  const auto table = panel_io_table();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the program sets a variable
  if (const char* const name = std::getenv(variable); name != nullptr && *name != '\0') {
    require_known(variable, name, names_of(table));
    return *find_panel_io(name);
  }
  return *std::ranges::find_if(table, [](const auto& row) { return row.why_unavailable().empty(); });
}

const PanelIoRow& fallback_panel_io() { return panel_io_table().back(); }

std::string refusal_warning(int error) {
  return fmt::format("--out-of-core: the system refuses requests of io_uring ({}); threads move the data",
                     std::strerror(error));
}

}  // namespace cg2d
