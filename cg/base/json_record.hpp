#pragma once

// A part of a result, described once: from the description follow its JSON and its schema.

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/base/json_values.hpp"

namespace cg2d {

/// The kind of a figure's value, as a schema.
using FigureType = Json;

/// A definition of the schema, by its name in $defs.
inline FigureType defined(std::string_view name) { return {{"$ref", "#/$defs/" + std::string(name)}}; }
inline FigureType name_type() { return defined("name"); }
/// One line, which may be empty.
inline FigureType line_type() { return defined("line"); }
inline FigureType count_type() { return defined("count"); }
inline FigureType positive_count_type() { return defined("positive_count"); }
inline FigureType seconds_type() { return defined("non_negative_number"); }
inline FigureType positive_seconds_type() { return defined("positive_number"); }
inline FigureType text_type() { return {{"type", "string"}}; }
inline FigureType flag_type() { return {{"type", "boolean"}}; }
/// One of these words.
inline FigureType word_type(std::initializer_list<std::string_view> words) {
  return {{"enum", std::vector<std::string>(words.begin(), words.end())}};
}
inline FigureType or_null(FigureType type) {
  return {{"anyOf", Json::array({{{"type", "null"}}, std::move(type)})}};
}
inline FigureType list_type(FigureType item, int fewest = 0) {
  FigureType list{{"type", "array"}};
  if (fewest > 0) list["minItems"] = fewest;
  list["items"] = std::move(item);
  return list;
}

/// When a member is there.
enum class Presence {
  always,
  always_now,  ///< results of earlier programs have none
  if_known     ///< not where its value is null
};
/// The value of a figure that a source does not have, whatever its presence.
inline Json absent() {
  return Json(Json::value_t::discarded);  // NOLINT(modernize-return-braced-init-list): braces make a list
}

/// One member of a record.
template <typename Source>
struct Figure {
  std::string name;
  FigureType type;
  /// The value, by a function or a member of the source.
  std::function<Json(const Source&)> value;
  std::string meaning = {};  ///< units, and what is not clear from the name; for the schema
  Presence presence = Presence::always;
};

/// The members of an object, in their order.
template <typename Source>
struct Record {
  std::vector<Figure<Source>> figures;
  std::string meaning = {};  ///< for the schema
  Json constraints = {};     ///< on several members together: further keywords of the schema
};

/// The figures of a part, for a record of the whole: part_of(whole) returns the part.
template <typename Whole, typename Part, typename PartOf>
std::vector<Figure<Whole>> figures_of_part(const Record<Part>& record, const PartOf& part_of) {
  std::vector<Figure<Whole>> figures;
  for (const auto& figure : record.figures) {
    const auto value = [value_of_part = figure.value, part_of](const Whole& whole) {
      return value_of_part(part_of(whole));
    };
    figures.push_back({figure.name, figure.type, value, figure.meaning, figure.presence});
  }
  return figures;
}

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

template <typename Source, typename Sources>
Json json_of_all(const Record<Source>& record, const Sources& sources) {
  Json list = Json::array();
  for (const auto& source : sources) list.push_back(json_of(record, source));
  return list;
}

/// The same, each object with its number in the list, from 0 if nothing else is said, as its first member.
template <typename Source, typename Sources>
Json numbered_json_of_all(const std::string& number_name, const Record<Source>& record,
                          const Sources& sources, std::size_t first = 0) {
  Json list = Json::array();
  for (const auto& source : sources) {
    Json item{{number_name, first + list.size()}};
    item.update(json_of(record, source));
    list.push_back(std::move(item));
  }
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

/// The schema of numbered_json_of_all()'s objects.
template <typename Source>
FigureType numbered_schema_of(const std::string& number_name, const Record<Source>& record,
                              const FigureType& number = count_type()) {
  auto schema = schema_of(record);
  schema["required"].insert(schema["required"].begin(), number_name);
  schema["properties"][number_name] = number;
  return schema;
}

/// The members of a record with these names, in this order.
template <typename Source>
Record<Source> part_of(const Record<Source>& record, const std::vector<std::string>& names) {
  Record<Source> part;
  for (const auto& name : names)
    part.figures.push_back(*std::ranges::find(record.figures, name, &Figure<Source>::name));
  return part;
}

/// A figure that is a record itself; null where the source has no such part. part_of(source): a pointer.
template <typename Source, typename Part, typename PartOf>
Figure<Source> part_or_null(const std::string& name, const Record<Part>& record, const PartOf& part_of,
                            const std::string& meaning = {}) {
  return {name, or_null(schema_of(record)),
          [record, part_of](const Source& source) {
            const auto* const part = part_of(source);
            return part == nullptr ? Json(nullptr) : json_of(record, *part);
          },
          meaning};
}

/// A figure that is a list of records. parts_of(source): a range.
template <typename Source, typename Part, typename PartsOf>
Figure<Source> list_figure(const std::string& name, const Record<Part>& record, const PartsOf& parts_of,
                           const std::string& meaning = {}, int fewest = 0) {
  return {name, list_type(schema_of(record), fewest),
          [record, parts_of](const Source& source) { return json_of_all(record, parts_of(source)); },
          meaning};
}

/// The schema of a document: an object, and the definitions that it names, the usual ones or these.
FigureType document_schema(const std::string& title, const FigureType& object,
                           const FigureType& more_definitions = FigureType::object());

}  // namespace cg2d
