#include "cg/report/shown_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cg/base/describe_json.hpp"
#include "cg/base/values.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d {
namespace {

/// Walks through a type.
class ShownFinder {
 public:
  std::vector<ShownFigure> take() { return std::move(found_); }

  void look_at(const Json& type) {
    note(type);
    if (type.contains("anyOf")) look_at(type.at("anyOf").back());
    if (type.contains("items")) look_below("*", type.at("items"));
    if (type.contains("properties")) {
      for (const auto& [name, property] : type.at("properties").items()) look_below(name, property);
    }
  }

 private:
  void look_below(const std::string& name, const Json& type) {
    path_.push_back(name);
    look_at(type);
    path_.pop_back();
  }

  void note(const Json& type) {
    ShownFigure figure{.path = path_,
                       .label = type.value("label", ""),
                       .unit = type.value("unit", ""),
                       .is_metric = type.value("metric", false),
                       .form = "maximum"};
    if (figure.is_metric) figure.column = path_.back();
    if (!figure.label.empty()) add(figure);
    if (!type.contains("columns")) return;
    const bool is_flag = type.value("type", Json()) == "boolean";
    for (const auto& [name, form] : type.at("columns").items())
      add_column(name, is_flag ? "off/on" : form.get<std::string>());
  }

  /// Columns of phases: "*_s" is a column of every phase, "collection_s" of that one only.
  void add_column(std::string name, const std::string& form) {
    const auto whole = path_.size() > 1 ? path_[path_.size() - 2] : std::string();
    if (name.front() == '*') name.replace(0, 1, whole);
    const bool is_of_other_phase = std::ranges::any_of(benchmark_phases, [&](Phase phase) {
      return name.starts_with(phase_name(phase)) && whole != phase_name(phase);
    });
    if (!is_of_other_phase) add({.path = path_, .column = std::move(name), .form = form});
  }

  /// A column stands for the first figure of its name.
  void add(const ShownFigure& figure) {
    if (figure.column.empty() ||
        std::ranges::find(found_, figure.column, &ShownFigure::column) == found_.end())
      found_.push_back(figure);
  }

  std::vector<std::string> path_;
  std::vector<ShownFigure> found_;
};

void collect(const Json& value, std::span<const std::string> path, std::vector<Json>& values) {
  if (path.empty()) {
    if (!value.is_null()) values.push_back(value);
  } else if (path.front() == "*") {
    for (const auto& item : value) collect(item, path.subspan(1), values);
  } else if (const auto member = value.find(path.front()); member != value.end()) {
    collect(*member, path.subspan(1), values);
  }
}

bool is_of_several(const ShownFigure& figure) {
  return std::ranges::find(figure.path, "*") != figure.path.end();
}

std::string csv_value(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return csv_cell(value.get<std::string>());
  if (!value.is_array()) return json_text(value);
  std::string text;
  for (const auto& item : value) text += (text.empty() ? "" : " ") + csv_value(item);
  return text;
}

/// The items of lists, as lines under the columns of all.
class ListLines {
 public:
  ListLines(const Json& document, bool names_lists) : document_(document) {
    if (names_lists) columns_.emplace_back("list");
  }

  void add(const Json& type, std::span<const std::string> path) {
    const auto* item = &type;
    for (const auto& name : path) {
      item = &own_type(own_type(*item).at("properties").at(name));
      if (item->contains("items")) item = &item->at("items");
      note_columns(*item, "");
    }
    add_items(document_.at(path.front()), path.subspan(1),
              Cells{{"list", fmt::format("{}", fmt::join(path, "."))}});
  }

  [[nodiscard]] std::string text() const {
    auto text = fmt::format("{}\n", fmt::join(columns_, ","));
    for (const auto& line : lines_) {
      std::vector<std::string> cells;
      for (const auto& column : columns_) cells.push_back(line.contains(column) ? line.at(column) : "");
      text += fmt::format("{}\n", fmt::join(cells, ","));
    }
    return text;
  }

 private:
  using Cells = std::map<std::string, std::string>;  // by column

  /// The type of what may be null.
  static const Json& own_type(const Json& type) {
    return type.contains("anyOf") ? type.at("anyOf").back() : type;
  }
  void note_columns(const Json& type, const std::string& prefix) {
    for (const auto& [name, property] : own_type(type).at("properties").items()) {
      const auto& own = own_type(property);
      if (own.contains("properties")) {
        note_columns(own, prefix + name + ".");
      } else if (!own.contains("items") || !own_type(own.at("items")).contains("properties")) {
        if (std::ranges::find(columns_, prefix + name) == columns_.end()) columns_.push_back(prefix + name);
      }
    }
  }

  void add_items(const Json& whole, std::span<const std::string> path, Cells cells) {
    if (whole.is_array()) {
      for (const auto& item : whole) add_items(item, path, cells);
      return;
    }
    put(whole, "", cells);
    if (path.empty()) {
      lines_.push_back(std::move(cells));
    } else {
      add_items(whole.at(path.front()), path.subspan(1), std::move(cells));
    }
  }

  static void put(const Json& value, const std::string& name, Cells& cells) {
    if (!value.is_object()) {
      if (!value.is_array() || value.empty() || !value.front().is_object()) cells[name] = csv_value(value);
      return;
    }
    for (const auto& [member, part] : value.items())
      put(part, name.empty() ? member : name + "." + member, cells);
  }

  const Json& document_;
  std::vector<std::string> columns_;
  std::vector<Cells> lines_;
};

std::string shown_text(const ShownFigure& figure, const Json& value) {
  auto text = value.is_number()   ? text_with_unit(value.get<double>(), figure.unit)
              : value.is_string() ? value.get<std::string>()
                                  : json_text(value);
  return is_of_several(figure) ? text + " on the largest rank" : text;
}

}  // namespace

Json ShownFigure::value_in(const Json& document) const {
  std::vector<Json> values;
  collect(document, path, values);
  if (values.empty()) return nullptr;
  if (!is_of_several(*this)) return values.front();
  if (form == "maximum") return *std::ranges::max_element(values);
  double sum = 0.0;
  for (const auto& value : values) sum += value.get<double>();
  return sum / static_cast<double>(values.size());
}

std::vector<ShownFigure> shown_figures(const Json& type) {
  ShownFinder finder;
  finder.look_at(type);
  return finder.take();
}

std::string text_with_unit(double value, const std::string& unit) {
  if (unit == "B") return format_bytes(saturated(value));
  if (unit == "%") return fmt::format("{:.1f} %", 100.0 * value);
  return unit == "s" ? fmt::format("{:.6f} s", value) : fmt::format("{:.6g} {}", value, unit);
}

std::string labelled_line(std::string_view label, std::string_view value) {
  return fmt::format(" {:<15} = {}\n", label, value);
}

std::string labelled_lines(const std::vector<ShownFigure>& figures, const Json& document) {
  LabelledLines line;
  for (const auto& figure : figures) {
    const auto value = figure.label.empty() ? Json(nullptr) : figure.value_in(document);
    if (!value.is_null()) line(figure.label, shown_text(figure, value));
  }
  return line.text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
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
  std::string line;
  bool is_first = true;
  for (const auto& figure : figures) {
    if (figure.column.empty()) continue;
    if (!is_first) line += ',';
    is_first = false;
    const auto value = figure.value_in(document);
    const auto middle = figure.form.find('/');
    line += value.is_boolean()
                ? (value.get<bool>() ? figure.form.substr(middle + 1) : figure.form.substr(0, middle))
                : csv_value(value);
  }
  return line;
}

std::string csv_of_lists(const Visit& type, const Visit& document, const ListPaths& lists) {
  const auto made = written(document);
  const auto specification = specified(type);
  ListLines lines(made, lists.size() > 1);
  for (const auto& path : lists) lines.add(specification, path);
  return lines.text();
}

}  // namespace cg2d
