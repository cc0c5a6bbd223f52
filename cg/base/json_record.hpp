#pragma once

// A part of a result, described once: from the description follow its JSON, its schema, and what is shown of it elsewhere.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/base/json_values.hpp"

namespace cg2d {

/// The kind of a figure's value, as a schema.
using FigureType = Json;

/// A type that stands once in its file, by this name in $defs: see schema_document().
inline FigureType named_type(std::string_view name, FigureType type) {
  return {{"$def", {{std::string(name), std::move(type)}}}};
}
/// The type with a further keyword of schemas.
inline FigureType with(FigureType type, std::string_view keyword, Json value) {
  type[std::string(keyword)] = std::move(value);
  return type;
}

inline FigureType text_type() { return {{"type", "string"}}; }
inline FigureType pattern_type(std::string_view pattern) { return with(text_type(), "pattern", pattern); }
inline FigureType name_type() { return named_type("name", pattern_type("^[^\\r\\n]+$")); }
/// One line, which may be empty.
inline FigureType line_type() { return named_type("line", pattern_type("^[^\\r\\n]*$")); }
inline FigureType flag_type() { return {{"type", "boolean"}}; }
inline FigureType number_type() { return {{"type", "number"}}; }
inline FigureType integer_type(int least) { return {{"type", "integer"}, {"minimum", least}}; }
inline FigureType integer_type(int least, int most) { return with(integer_type(least), "maximum", most); }
inline FigureType count_type() { return named_type("count", integer_type(0)); }
inline FigureType positive_count_type() { return named_type("positive_count", integer_type(1)); }
inline FigureType seconds_type() {
  return named_type("non_negative_number", with(number_type(), "minimum", 0));
}
inline FigureType positive_seconds_type() {
  return named_type("positive_number", with(number_type(), "exclusiveMinimum", 0));
}
/// A number; null stands for NaN and infinity.
inline FigureType finite_type() { return named_type("finite_or_null", {{"type", {"number", "null"}}}); }
/// A class of the benchmark; of another iteration than its own with the iteration's name, "NAME:S".
inline FigureType class_type() { return named_type("class", pattern_type("^([a-z][-a-z]*:)?[SWABCDEFU]$")); }
/// A grid, "PXxPY".
inline FigureType grid_type() { return pattern_type("^[1-9][0-9]*x[1-9][0-9]*$"); }
/// This value, always.
inline FigureType constant_type(Json value) { return {{"const", std::move(value)}}; }
/// One of these words.
inline FigureType word_type(std::vector<std::string> words) { return {{"enum", std::move(words)}}; }
inline FigureType or_null(FigureType type) {
  return {{"anyOf", Json::array({{{"type", "null"}}, std::move(type)})}};
}
inline FigureType list_type(FigureType item, int fewest = 0) {
  FigureType list{{"type", "array"}};
  if (fewest > 0) list["minItems"] = fewest;
  list["items"] = std::move(item);
  return list;
}
/// An object whose members have any names, and values of one type.
inline FigureType map_type(FigureType value) {
  return {{"type", "object"}, {"additionalProperties", std::move(value)}};
}

// Text, CSV and comparisons show of a figure what stands with its type, and so in the schema.

/// A line of the text for people; unit: "s", "B" (bytes), "%" of a share, or any other text.
inline FigureType labelled(FigureType type, std::string_view label, std::string_view unit = "") {
  return with(with(std::move(type), "label", label), "unit", unit);
}
/// A number with a line of the text, a column of CSV, and a place in comparisons; unit: as labelled().
inline FigureType metric(FigureType type, std::string_view label, std::string_view unit) {
  return with(labelled(std::move(type), label, unit), "metric", true);
}
/// A column of CSV. form: of several values the mean or the maximum; of a flag its two words.
inline FigureType column(FigureType type, const std::string& name, std::string_view form = "value") {
  type["columns"][name] = form;
  return type;
}

/// When a member is there.
enum class Presence {
  always,
  if_known  ///< not where its value is null
};
/// The value of a figure that a source does not have, whatever its presence.
inline Json absent() {
  return Json(Json::value_t::discarded);  // NOLINT(modernize-return-braced-init-list): braces make a list
}

/// A value of a result. JSON has no NaN and no infinity: null stands for them, and for what is not known.
template <typename Value>
Json figure_value(const Value& value) {
  if constexpr (std::is_floating_point_v<Value>)
    return number_or_null(value);
  else
    return Json(value);
}
template <typename Value>
Json figure_value(const std::optional<Value>& value) {
  return value ? figure_value(*value) : Json(nullptr);
}
inline Json figure_value(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(figure_value(value));
  return list;
}

/// Where a figure's value comes from: a function of the source, or a member.
template <typename Source>
class FigureSource {
 public:
  template <typename ValueOf>
  FigureSource(ValueOf value_of)  // NOLINT(google-explicit-constructor): figures are lists of such functions
      : value_of_([value_of](const Source& source) { return figure_value(std::invoke(value_of, source)); }) {}
  Json operator()(const Source& source) const { return value_of_(source); }

 private:
  std::function<Json(const Source&)> value_of_;
};

/// One member of a record.
template <typename Source>
struct Figure {
  std::string name;
  FigureType type;
  FigureSource<Source> value;
  std::string meaning = {};  ///< units, and what is not clear from the name; for the schema
  Presence presence = Presence::always;
};

/// The members of an object, in their order.
template <typename Source>
struct Record {
  Record(std::string its_name, std::vector<Figure<Source>> its_figures, std::string its_meaning = {},
         Json its_constraints = {})
      : name(std::move(its_name)),
        figures(std::move(its_figures)),
        meaning(std::move(its_meaning)),
        constraints(std::move(its_constraints)) {}
  /// Without a name, for a part that its whole describes where it stands.
  Record(std::vector<Figure<Source>> its_figures = {}, std::string its_meaning = {},  // NOLINT
         Json its_constraints = {})
      : Record(std::string(), std::move(its_figures), std::move(its_meaning), std::move(its_constraints)) {}

  std::string name;  ///< in $defs of the schema
  std::vector<Figure<Source>> figures;
  std::string meaning;  ///< for the schema
  Json constraints;     ///< on several members together: further keywords of the schema
};

template <typename Source>
Json json_of(const Record<Source>& record, const std::type_identity_t<Source>& source) {
  Json json = Json::object();
  for (const auto& figure : record.figures) {
    auto value = figure.value(source);
    if (value.is_discarded()) continue;
    if (figure.presence != Presence::if_known || !value.is_null()) json[figure.name] = std::move(value);
  }
  return json;
}
/// null where there is none.
template <typename Source>
Json json_of(const Record<Source>& record, const std::type_identity_t<Source>* source) {
  return source == nullptr ? Json(nullptr) : json_of(record, *source);
}
template <typename Source>
Json json_of(const Record<Source>& record, const std::optional<std::type_identity_t<Source>>& source) {
  return source ? json_of(record, *source) : Json(nullptr);
}

template <typename Source, typename Sources>
Json json_of_all(const Record<Source>& record, const Sources& sources) {
  Json list = Json::array();
  for (const auto& source : sources) list.push_back(json_of(record, source));
  return list;
}

/// The schema of an object with these members and no others.
template <typename Source>
FigureType schema_of(const Record<Source>& record) {
  Json schema = Json::object();
  if (!record.meaning.empty()) schema["description"] = record.meaning;
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  schema["required"] = Json::array();
  schema["properties"] = Json::object();
  for (const auto& figure : record.figures) {
    if (figure.presence == Presence::always) schema["required"].push_back(figure.name);
    auto& property = schema["properties"][figure.name];
    if (!figure.meaning.empty()) property["description"] = figure.meaning;
    property.update(figure.type);
  }
  if (!record.constraints.is_null()) schema.update(record.constraints);
  return schema;
}
/// The same, by its name where it has one.
template <typename Source>
FigureType type_of(const Record<Source>& record) {
  return record.name.empty() ? schema_of(record) : named_type(record.name, schema_of(record));
}

template <typename Source>
Record<Source> with(Record<Source> record, std::vector<Figure<Source>> more) {
  for (auto& figure : more) record.figures.push_back(std::move(figure));
  return record;
}

/// The figures of a part as those of the whole: part_of(whole) returns the part.
template <typename Whole, typename Part, typename PartOf>
std::vector<Figure<Whole>> figures_of_part(const Record<Part>& record, const PartOf& part_of) {
  std::vector<Figure<Whole>> figures;
  for (const auto& figure : record.figures) {
    const auto value = [value_of_part = figure.value, part_of](const Whole& whole) {
      return value_of_part(std::invoke(part_of, whole));
    };
    figures.push_back({figure.name, figure.type, value, figure.meaning, figure.presence});
  }
  return figures;
}

/// A member that is an object. part_of(whole) returns the part, or an optional one, or a pointer: null where there is none.
template <typename Whole, typename Part, typename PartOf>
Figure<Whole> part(std::string name, Record<Part> record, PartOf part_of, std::string meaning = {},
                   Presence presence = Presence::always) {
  using Found = std::invoke_result_t<PartOf, const Whole&>;
  constexpr bool is_always_there = std::is_convertible_v<Found, const Part&>;
  auto type = type_of(record);
  if (!is_always_there && presence != Presence::if_known) type = or_null(std::move(type));
  const auto value = [record = std::move(record), part_of](const Whole& whole) {
    return json_of(record, std::invoke(part_of, whole));
  };
  return {std::move(name), std::move(type), value, std::move(meaning), presence};
}

/// A member that is a list of objects.
template <typename Whole, typename Part, typename PartsOf>
Figure<Whole> list_figure(std::string name, Record<Part> record, PartsOf parts_of, std::string meaning = {},
                          int fewest = 0, Presence presence = Presence::always) {
  auto type = list_type(type_of(record), fewest);
  const auto value = [record = std::move(record), parts_of](const Whole& whole) {
    return json_of_all(record, std::invoke(parts_of, whole));
  };
  return {std::move(name), std::move(type), value, std::move(meaning), presence};
}

/// A part with its number in a list.
template <typename Part>
struct Numbered {
  const Part& part;
  std::size_t number = 0;
};

/// A list whose objects have their numbers in it, from `first`, as their first member.
template <typename Whole, typename Part, typename PartsOf>
Figure<Whole> numbered_list(std::string name, std::string number_name, const Record<Part>& record,
                            PartsOf parts_of, std::string meaning = {}, int fewest = 1,
                            std::size_t first = 0) {
  Record<Numbered<Part>> numbered{
      record.name,
      {{std::move(number_name), first > 0 ? positive_count_type() : count_type(), &Numbered<Part>::number}},
      record.meaning,
      record.constraints};
  numbered = with(std::move(numbered),
                  figures_of_part<Numbered<Part>>(
                      record, [](const Numbered<Part>& one) -> const Part& { return one.part; }));
  auto type = list_type(type_of(numbered), fewest);
  const auto value = [numbered, parts_of, first](const Whole& whole) {
    Json list = Json::array();
    const auto& found = std::invoke(parts_of, whole);
    for (const Part& one : found) list.push_back(json_of(numbered, {one, first + list.size()}));
    return list;
  };
  return {std::move(name), std::move(type), value, std::move(meaning)};
}

/// The members of a record with these names, in this order.
template <typename Source>
Record<Source> part_of(const Record<Source>& record, const std::vector<std::string>& names) {
  Record<Source> chosen;
  for (const auto& name : names)
    chosen.figures.push_back(*std::ranges::find(record.figures, name, &Figure<Source>::name));
  return chosen;
}

/// A schema whole: the types that have names stand in $defs, each once. Throws std::logic_error where a name means two types.
FigureType document_schema(const std::string& title, const FigureType& type);

}  // namespace cg2d
