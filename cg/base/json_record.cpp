#include "cg/base/json_record.hpp"

namespace cg2d {
namespace {

/// The types that have a function in json_record.hpp, and those that several results name.
FigureType usual_definitions() {
  return {{"class", word_type({"S", "W", "A", "B", "C", "D", "E", "F", "U"})},
          {"count", {{"type", "integer"}, {"minimum", 0}}},
          {"finite_or_null", {{"type", Json::array({"number", "null"})}}},
          {"line", {{"type", "string"}, {"pattern", "^[^\\r\\n]*$"}}},
          {"name", {{"type", "string"}, {"pattern", "^[^\\r\\n]+$"}}},
          {"non_negative_number", {{"type", "number"}, {"minimum", 0}}},
          {"positive_count", {{"type", "integer"}, {"minimum", 1}}},
          {"positive_number", {{"type", "number"}, {"exclusiveMinimum", 0}}}};
}

}  // namespace

FigureType document_schema(const std::string& title, const FigureType& object,
                           const FigureType& more_definitions) {
  FigureType schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object);
  auto known = usual_definitions();
  known.update(more_definitions);
  auto definitions = FigureType::object();
  // A definition may name another one.
  for (std::size_t count = known.size(); count-- > 0;) {
    for (const auto& [name, type] : known.items()) {
      const auto reference = json_text(defined(name)["$ref"]);
      if (json_text(schema).find(reference) != std::string::npos ||
          json_text(definitions).find(reference) != std::string::npos)
        definitions[name] = type;
    }
  }
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return schema;
}

}  // namespace cg2d
