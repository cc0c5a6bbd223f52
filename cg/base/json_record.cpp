#include "cg/base/json_record.hpp"

#include <stdexcept>

namespace cg2d {
namespace {

/// Named types, as they were described, and as a file refers to them.
class Definitions {
 public:
  /// The type, which refers to those that have names.
  Json referring(const Json& type) {
    if (!type.is_structured()) return type;
    Json made = type.is_array() ? Json::array() : Json::object();
    for (const auto& [key, value] : type.items()) {
      if (type.is_array()) {
        made.push_back(referring(value));
      } else if (key == "$def") {
        made["$ref"] = reference_to(value.begin().key(), value.begin().value());
      } else {
        made[key] = referring(value);
      }
    }
    return made;
  }
  Json take() { return std::move(definitions_); }

 private:
  std::string reference_to(const std::string& name, const Json& type) {
    if (!described_.contains(name)) {
      described_[name] = type;
      definitions_[name] = referring(type);
    } else if (described_.at(name) != type) {
      throw std::logic_error("two types are called " + name);
    }
    return "#/$defs/" + name;
  }

  Json described_ = Json::object();
  Json definitions_ = Json::object();
};

}  // namespace

FigureType document_schema(const std::string& title, const FigureType& type) {
  Definitions definitions;
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  // The whole needs no name.
  const auto named = type.find("$def");
  schema.update(definitions.referring(named == type.end() ? type : named->begin().value()));
  if (auto found = definitions.take(); !found.empty()) schema["$defs"] = std::move(found);
  return schema;
}

}  // namespace cg2d
