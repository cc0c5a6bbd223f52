#include "cg/report/shown_figures.hpp"

#include <fmt/ranges.h>

#include "cg/base/describe_json.hpp"

namespace cg2d {
namespace {

/// A column stands for the first figure of its name: "*_s" for one of each object around it, such as a phase.
void add_column(ShownFigure figure, std::vector<ShownFigure>& found) {
  auto& name = figure.column;
  if (name.front() == '*') name.replace(0, 1, figure.path.at(figure.path.size() - 2));
  if (std::ranges::find(found, name, &ShownFigure::column) == found.end()) found.push_back(std::move(figure));
}

/// The figures of a type at this place, and of its members.
void find_figures(const Json& type, const std::vector<std::string>& path, std::vector<ShownFigure>& found) {
  ShownFigure figure{.path = path,
                     .label = type.value("label", ""),
                     .unit = type.value("unit", ""),
                     .is_metric = type.value("metric", false)};
  if (figure.is_metric) {
    figure.column = path.back();
    if (!figure.label.empty()) add_column(figure, found);
  } else if (!figure.label.empty()) {
    found.push_back(figure);
  }
  if (type.contains("columns")) {
    for (const auto& [name, form] : type.at("columns").items())
      add_column({.path = path, .column = name, .is_mean = form == "mean"}, found);
  }
  const auto look_below = [&](const std::string& name, const Json& part) {
    auto below = path;
    below.push_back(name);
    find_figures(part, below, found);
  };
  if (type.contains("anyOf")) find_figures(type.at("anyOf").back(), path, found);
  if (type.contains("items")) look_below("*", type.at("items"));
  if (type.contains("properties")) {
    for (const auto& [name, part] : type.at("properties").items()) look_below(name, part);
  }
}

void collect(const Json& value, std::span<const std::string> path, std::vector<Json>& values) {
  if (path.empty()) {
    if (!value.is_null()) values.push_back(value);
  } else if (path.front() == "*") {
    for (const auto& item : value) collect(item, path.subspan(1), values);
  } else if (const auto member = value.find(path.front()); member != value.end()) {
    collect(*member, path.subspan(1), values);
  }
}

std::string csv_value(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return csv_cell(value.get<std::string>());
  if (!value.is_array()) return json_text(value);
  std::string text;
  for (const auto& item : value) text += (text.empty() ? "" : " ") + csv_value(item);
  return text;
}

// The items of lists, as lines under the columns of all.

/// The cells of a line, by column.
using Cells = std::map<std::string, std::string>;

/// The type of what may be null.
const Json& own_type(const Json& type) { return type.contains("anyOf") ? type.at("anyOf").back() : type; }

/// Members of an object at this place that are columns, by their places from there on: "/seconds/median".
void add_columns(const Json& type, const std::string& place, std::vector<std::string>& columns) {
  for (const auto& [name, property] : own_type(type).at("properties").items()) {
    const auto& own = own_type(property);
    const auto member = fmt::format("{}/{}", place, name);
    if (own.contains("properties")) {
      add_columns(own, member, columns);
    } else if (!own.contains("items") || !own_type(own.at("items")).contains("properties")) {
      if (std::ranges::find(columns, member) == columns.end()) columns.push_back(member);
    }
  }
}

void add_lines(const Json& whole, std::span<const std::string> path, Cells cells,
               const std::vector<std::string>& columns, std::vector<Cells>& lines) {
  if (whole.is_array()) {
    for (const auto& item : whole) add_lines(item, path, cells, columns, lines);
    return;
  }
  for (const auto& column : columns) {
    if (const Json::json_pointer place(column); whole.contains(place))
      cells[column] = csv_value(whole.at(place));
  }
  if (path.empty()) {
    lines.push_back(std::move(cells));
  } else {
    add_lines(whole.at(path.front()), path.subspan(1), std::move(cells), columns, lines);
  }
}

std::string shown_text(const ShownFigure& figure, const Json& value) {
  if (value.is_structured()) {
    std::vector<std::string> parts;
    for (const auto& [key, part] : value.items()) {
      if (part.empty() || part == Json("")) continue;
      const auto text = shown_text(figure, part);
      parts.push_back(!value.is_object() ? text
                      : part.is_object() ? fmt::format("{} ({})", key, text)
                                         : fmt::format("{}={}", key, text));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  const bool is_exact = value.is_number_integer() && figure.unit != "B";
  auto text = value.is_number() && !is_exact ? text_with_unit(value.get<double>(), figure.unit)
              : value.is_string()            ? value.get<std::string>()
                                             : json_text(value);
  if (is_exact && !figure.unit.empty()) text += " " + figure.unit;
  const bool is_of_ranks = std::ranges::find(figure.path, "ranks") != figure.path.end();
  return is_of_ranks && value.is_number() ? text + " on the largest rank" : text;
}

}  // namespace

Json ShownFigure::value_in(const Json& document) const {
  std::vector<Json> values;
  collect(document, path, values);
  if (values.empty()) return nullptr;
  if (std::ranges::find(path, "*") == path.end()) return values.front();
  if (!is_mean) return *std::ranges::max_element(values);
  double sum = 0.0;
  for (const auto& value : values) sum += value.get<double>();
  return sum / static_cast<double>(values.size());
}

std::vector<ShownFigure> shown_figures(const Json& type) {
  std::vector<ShownFigure> found;
  find_figures(type, {}, found);
  return found;
}

std::string text_with_unit(double value, const std::string& unit) {
  if (unit == "B") return format_bytes(saturated(value));
  if (unit == "%") return fmt::format("{:.1f} %", 100.0 * value);
  if (unit == "s") return fmt::format("{:.6f} s", value);
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string labelled_line(std::string_view label, std::string_view value) {
  return fmt::format(" {:<15} = {}\n", label, value);
}

std::string labelled_lines(const std::vector<ShownFigure>& figures, const Json& document) {
  std::string lines;
  for (const auto& figure : figures) {
    const auto value = figure.label.empty() ? Json(nullptr) : figure.value_in(document);
    if (!value.empty() && value != Json("")) lines += labelled_line(figure.label, shown_text(figure, value));
  }
  return lines;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + "\"";
}

std::string csv_header(const std::vector<ShownFigure>& figures) {
  std::string line;
  for (const auto& figure : figures) {
    if (!figure.column.empty()) line += (line.empty() ? "" : ",") + figure.column;
  }
  return line;
}

std::string csv_cells(const std::vector<ShownFigure>& figures, const Json& document) {
  std::vector<std::string> cells;
  for (const auto& figure : figures) {
    if (figure.column.empty()) continue;
    const auto value = figure.value_in(document);
    cells.push_back(value.is_boolean() ? (value.get<bool>() ? "on" : "off") : csv_value(value));
  }
  return fmt::format("{}", fmt::join(cells, ","));
}

std::string csv_of_lists(const Visit& type, const Visit& document, const ListPaths& lists) {
  const auto made = written(document);
  const auto specification = specified(type);
  std::vector<std::string> columns;
  std::vector<Cells> lines;
  if (lists.size() > 1) columns.emplace_back("/list");
  for (const auto& path : lists) {
    const auto* item = &specification;
    for (const auto& name : path) {
      item = &own_type(own_type(*item).at("properties").at(name));
      if (item->contains("items")) item = &item->at("items");
      add_columns(*item, "", columns);
    }
    add_lines(made.at(path.front()), std::span(path).subspan(1),
              {{"/list", fmt::format("{}", fmt::join(path, "."))}}, columns, lines);
  }
  std::string text;
  for (const auto& column : columns) text += (text.empty() ? "" : ",") + column.substr(1);
  std::ranges::replace(text, '/', '.');
  text += '\n';
  for (const auto& line : lines) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const auto& column : columns) cells.push_back(line.contains(column) ? line.at(column) : "");
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace cg2d
