#pragma once

// The figures of a result that its records show outside of JSON: in text, in CSV, in comparisons.

#include <fmt/format.h>

#include "cg/base/describe.hpp"

namespace cg2d {

/// One figure, by its place in a document.
struct ShownFigure {
  std::vector<std::string> path;  ///< names of members; "*": all items of a list
  std::string label{};            ///< in text; empty: it is not there
  std::string unit{};
  bool is_metric = false;  ///< comparisons show it
  std::string column{};    ///< in CSV; empty: it has none
  bool is_mean = false;    ///< of several; otherwise it is the greatest

  /// The value in a document; null where there is none. Of several the mean or the greatest.
  Json value_in(const Json& document) const;
};
/// Those of a document of this type, in its order. Phases are those of the benchmark.
std::vector<ShownFigure> shown_figures(const Json& type);

/// " label          = value", and its end.
std::string labelled_line(std::string_view label, std::string_view value);
/// Lines "label = value unit".
std::string labelled_lines(const std::vector<ShownFigure>& figures, const Json& document);
/// "0.001234 s", "1.2 MB", "12.3 %".
std::string text_with_unit(double value, const std::string& unit);
/// A text in quotes if a comma or a quote makes it necessary (RFC 4180).
std::string csv_cell(const std::string& text);
/// The columns' names, and their values in a document, separated by commas.
std::string csv_header(const std::vector<ShownFigure>& figures);
std::string csv_cells(const std::vector<ShownFigure>& figures, const Json& document);

/// Members of a document that are lists, each by its path from list to list: {"pairs", "transfers"}.
using ListPaths = std::vector<std::vector<std::string>>;
/// A line for each item of these, with a column for each member of it and of the items around it, but for lists of objects. Columns have
/// the names of members, those within others after a dot. Of several lists the first column has the path.
std::string csv_of_lists(const Visit& type, const Visit& document, const ListPaths& lists);
template <typename Document>
std::string csv_of_lists(const Document& document, const ListPaths& lists) {
  return csv_of_lists(visit_new<Document>, visit_of(document), lists);
}

}  // namespace cg2d
