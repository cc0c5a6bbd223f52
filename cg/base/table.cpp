#include "cg/base/table.hpp"

#include <algorithm>
#include <cstddef>

namespace cg2d {
namespace {

std::string aligned(const std::string& text, size_t width, bool is_number) {
  return is_number ? fmt::format("{:>{}}", text, width) : fmt::format("{:<{}}", text, width);
}

std::string without_blanks_at_end(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

Table& Table::line() {
  has_gap_.push_back(false);
  return *this;
}

Table& Table::gap() {
  if (!has_gap_.empty()) has_gap_.back() = true;
  return *this;
}

Table& Table::put(std::string_view column, std::string text, bool is_number) {
  auto found = std::ranges::find(columns_, column, &Column::name);
  if (found == columns_.end())
    found = columns_.insert(found, {.name = std::string(column), .is_number = is_number});
  found->cells.resize(has_gap_.size());
  found->cells.back() = std::move(text);
  return *this;
}

std::string Table::text(std::string_view indent) const {
  std::string names(indent);
  std::vector<std::string> lines(has_gap_.size(), names);
  for (const auto& column : columns_) {
    const auto cell = [&](size_t line) {
      const auto text = line < column.cells.size() ? column.cells[line] : std::string();
      return text.empty() && !column.name.empty() ? "-" : text;
    };
    auto width = column.name.size();
    for (size_t line = 0; line < lines.size(); ++line) width = std::max(width, cell(line).size());
    const auto* const gap = &column == columns_.data() ? "" : "  ";
    names += gap + aligned(column.name, width, column.is_number);
    for (size_t line = 0; line < lines.size(); ++line)
      lines[line] += gap + aligned(cell(line), width, column.is_number);
  }
  auto text = without_blanks_at_end(names) + "\n";
  for (size_t line = 0; line < lines.size(); ++line)
    text += without_blanks_at_end(lines[line]) + (has_gap_[line] ? "\n\n" : "\n");
  return text;
}

std::string percent_text(std::optional<double> share, int decimals) {
  return share ? fmt::format("{:.{}f} %", 100.0 * *share, decimals) : std::string();
}

}  // namespace cg2d
