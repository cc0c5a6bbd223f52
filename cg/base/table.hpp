#pragma once

// Tables for people.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cg2d {

/// Lines of cells under named columns, each as wide as its longest cell. A column stands where its first cell was put; a line that lacks
/// a cell, or has an empty one, shows "-" there (nothing in a column without a name).
class Table {
 public:
  /// Begins a line, which the cells that follow belong to.
  Table& line();
  /// A blank line after the last one.
  Table& gap();
  /// Aligned left.
  Table& word(std::string_view column, std::string_view text) {
    return put(column, std::string(text), false);
  }
  /// Aligned right.
  Table& number(std::string_view column, std::string text) { return put(column, std::move(text), true); }
  /// As a format makes it, such as "{:.1f} %".
  template <typename... Values>
  Table& number(std::string_view column, fmt::format_string<const Values&...> format,
                const Values&... values) {
    return put(column, fmt::format(format, values...), true);
  }

  bool is_empty() const { return has_gap_.empty(); }
  /// The names of the columns, then the lines, each after the indent.
  std::string text(std::string_view indent = " ") const;

 private:
  struct Column {
    std::string name;
    bool is_number = false;
    std::vector<std::string> cells{};  ///< of the first lines; those beyond are empty
  };

  Table& put(std::string_view column, std::string text, bool is_number);

  std::vector<Column> columns_;
  std::vector<bool> has_gap_;  ///< after each line
};

/// "12.3 %", with as many decimals; empty where there is no share.
std::string percent_text(std::optional<double> share, int decimals);

}  // namespace cg2d
