#pragma once

// Tables for people: name, format and content of a column stand once.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cg2d {

/// Names of columns, and a line for each row of data. Cells that are longer than their column keep their length.
template <typename Row>
class TextTable {
 public:
  /// format: of a cell, with alignment, width and unit, such as "{:>9.1f} %", or "{}" for texts of any length. value: a member of Row, or
  /// a function of one.
  template <typename Value>
  void column(std::string_view name, std::string format, Value value) {
    const auto sign = std::min(format.find_first_of("<>"), format.find('}'));
    const auto unit_length = format.size() - format.find('}') - 1;
    const auto width = std::strtoul(format.c_str() + sign + 1, nullptr, 10) + unit_length;
    names_ += format[sign] == '>' ? fmt::format(" {:>{}}", name, width) : fmt::format(" {:<{}}", name, width);
    cells_.push_back([format = std::move(format), value = std::move(value)](const Row& row) {
      return fmt::format(fmt::runtime(format), std::invoke(value, row));
    });
  }

  /// after(row): what follows after the last column.
  template <typename Rows, typename After>
  [[nodiscard]] std::string text(const Rows& rows, const After& after) const {
    std::string text = names_ + "\n";
    for (const Row& row : rows) {
      for (const auto& cell : cells_) text += " " + cell(row);
      text += fmt::format("{}\n", after(row));
    }
    return text;
  }
  template <typename Rows>
  [[nodiscard]] std::string text(const Rows& rows) const {
    return text(rows, [](const Row& /*row*/) { return ""; });
  }

 private:
  std::string names_;
  std::vector<std::function<std::string(const Row&)>> cells_;
};

}  // namespace cg2d
