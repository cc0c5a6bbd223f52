#include "cg/base/describe_json.hpp"

#include <fmt/ranges.h>

#include <cmath>

namespace cg2d {
namespace {

// The files of cg2d have 10 levels at most.
constexpr int most_levels = 100;

/// Whether arrays and objects are within each other in more levels. A text that is no JSON gives any answer for
/// the part after its first error, which no parser reads.
bool nests_too_deep(std::string_view text) {
  int level = 0;
  bool is_string = false;
  for (size_t k = 0; k < text.size(); ++k) {
    const char letter = text[k];
    if (is_string && letter == '\\') {
      ++k;
    } else if (letter == '"') {
      is_string = !is_string;
    } else if (!is_string && (letter == '[' || letter == '{')) {
      if (++level > most_levels) return true;
    } else if (!is_string && (letter == ']' || letter == '}')) {
      --level;
    }
  }
  return false;
}

}  // namespace

void Members::add(const std::string& problem) {
  if (std::ranges::find(problems_, problem) == problems_.end()) problems_.push_back(problem);
}

void Members::complain(const std::string& problem) {
  if (here().json->is_object()) add(problem);
}

void Members::finish() const {
  if (problems_.empty()) return;
  const auto code = has_bad_figure_ ? ExitCode::bad_data : ExitCode::usage;
  if (problems_.size() == 1) throw InputError(problems_.front(), code);
  throw InputError(fmt::format("{} problems: {}", problems_.size(), fmt::join(problems_, "; ")), code);
}

std::string Members::where(std::string_view name) const {
  const auto above = path();
  return fmt::format("\"{}{}{}\"", above, above.empty() ? "" : ".", name);
}

bool Members::has(std::string_view name) {
  if (!reads()) return true;
  here().known.emplace_back(name);
  const auto& json = *here().json;
  return json.is_object() && json.contains(std::string(name)) && !json.at(std::string(name)).is_null();
}

std::string Members::path() const {
  std::string text;
  for (size_t depth = 1; depth < places_.size(); ++depth) {
    const auto& [json, name, index, known] = places_[depth];
    text += index ? fmt::format("[{}]", *index) : fmt::format("{}{}", text.empty() ? "" : ".", name);
  }
  return text;
}

void Members::refuse(const std::string& needed) {
  constexpr size_t most_shown = 40;
  const auto shown = json_text(*here().json).substr(0, most_shown);
  add(places_.size() == 1 ? fmt::format("{} is needed", needed)
                          : fmt::format("\"{}\" is {}: it must be {}", path(), shown, needed));
}

template <typename Value>
void Members::take(Value& value, const Value& found, const Note& note) {
  if (note.is_constant && found != value)
    return add(
        fmt::format("\"{}\" is {}, which this program does not read", path(), json_text(*here().json)));
  value = found;
}

bool Members::is_within(double value, const Note& note) {
  if (value >= note.least && note.is_computable && !is_computable(value)) {
    has_bad_figure_ = true;
    refuse(fmt::format("within {:g} ... {:g}", least_magnitude, greatest_magnitude));
    return false;
  }
  if (value > note.least || (value == note.least && !note.is_above)) return true;
  refuse(fmt::format("{} {:g}", note.is_above ? "greater than" : "at least", note.least));
  return false;
}

template <typename Value>
bool Members::is_written(const Value& value, const char* type, const Note& note) {
  auto& json = *here().json;
  if (reads()) return false;
  if (writes()) {
    json = value;
    return true;
  }
  const bool may_be_null = std::is_same_v<Value, double> && !std::isfinite(note.least);
  json["type"] = may_be_null ? Json({type, "null"}) : Json(type);
  if (note.is_constant) json["const"] = value;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (note.fewest > 0) json["minLength"] = note.fewest;
  } else if (std::isfinite(note.least)) {
    if (std::is_same_v<Value, double>)
      json[note.is_above ? "exclusiveMinimum" : "minimum"] = note.least;
    else
      json["minimum"] = static_cast<int64_t>(note.least) + (note.is_above ? 1 : 0);
  }
  return true;
}

bool Members::enter(std::string_view name, const Note& note, bool is_optional, bool has_value) {
  const std::string key(name);
  auto& whole = *here().json;
  if (reads()) {
    here().known.push_back(key);
    if (!whole.is_object()) return false;  // complained of already
    const auto found = whole.find(key);
    const bool is_there = found != whole.end();
    if (is_optional && (!is_there || found->is_null())) return false;
    if (is_there)
      places_.push_back({.json = &*found, .name = name});
    else
      complain(fmt::format("{} is missing{}", where(name),
                           note.meaning.empty() ? "" : fmt::format(" ({})", note.meaning)));
    return is_there;
  }
  if (writes()) {
    if (!has_value && !note.is_null) return false;
    auto& member = whole[key];
    if (has_value) places_.push_back({.json = &member});
    return has_value;
  }
  if (&whole != way_ && (!is_optional || note.is_null)) whole["required"].push_back(name);
  auto& member = whole["properties"][key];
  for (const auto& [keyword, text] :
       {std::pair("description", note.meaning), {"label", note.label}, {"unit", note.unit}}) {
    if (!text.empty()) member[keyword] = text;
  }
  if (!note.mean_column.empty()) member["columns"][std::string(note.mean_column)] = "mean";
  if (!note.column.empty()) member["columns"][std::string(note.column)] = "maximum";
  if (note.is_metric) member["metric"] = true;
  const bool may_be_null = is_optional && note.is_null;
  if (may_be_null) member["anyOf"] = Json::array({Json{{"type", "null"}}, Json::object()});
  places_.push_back({.json = may_be_null ? &member["anyOf"].back() : &member});
  return true;
}

void Members::begin_object() {
  auto& whole = *here().json;
  if (writes()) {
    whole = Json::object();
  } else if (!reads()) {
    whole.update({{"type", "object"},
                  {"additionalProperties", false},
                  {"required", Json::array()},
                  {"properties", Json::object()}});
  } else if (!whole.is_object()) {
    refuse("an object");
  }
}

void Members::end_object() {
  if (!reads() || !here().json->is_object()) return;
  for (const auto& [key, value] : here().json->items()) {
    if (std::ranges::find(here().known, key) == here().known.end())
      complain(fmt::format("{} is nothing that is read here{}", where(key), did_you_mean(key, here().known)));
  }
}

std::vector<std::string> Members::begin_map() {
  auto& map = *here().json;
  if (task_ == Task::specify) {
    map["type"] = "object";
    return {"any"};
  }
  begin_object();
  std::vector<std::string> names;
  if (reads() && map.is_object()) {
    for (const auto& [key, value] : map.items()) names.push_back(key);
  }
  return names;
}

bool Members::enter_named(const std::string& name) {
  if (task_ != Task::specify) return enter(name, {}, false, true);
  places_.push_back({.json = &(*here().json)["additionalProperties"]});
  return true;
}

size_t Members::begin_list(size_t size, const Note& note) {
  auto& list = *here().json;
  if (writes()) {
    list = Json::array();
    return size;
  }
  if (!reads()) {
    list["type"] = "array";
    if (note.fewest > 0) list["minItems"] = note.fewest;
    return std::max<size_t>(size, 1);
  }
  if (list.is_array() && list.size() >= note.fewest) return list.size();
  refuse(note.fewest == 0 ? "a list" : fmt::format("a list of at least {}", note.fewest));
  return 0;
}

void Members::enter_item(size_t index) {
  auto& list = *here().json;
  if (reads())
    places_.push_back({.json = &list.at(index), .index = index});
  else
    places_.push_back({.json = writes() ? &list.emplace_back() : &(list["items"] = Json::object())});
}

void Members::flag(bool& value, const Note& note) {
  if (is_written(value, "boolean", note)) return;
  if (!here().json->is_boolean()) return refuse("true or false");
  take(value, here().json->get<bool>(), note);
}

void Members::integer(int64_t& value, int64_t least, int64_t most, const Note& note) {
  if (is_written(value, "integer", note)) return;
  const auto& json = *here().json;
  const double found = json.is_number() ? json.get<double>() : 0.5;
  const bool is_large = json.is_number_unsigned() && !std::in_range<int64_t>(json.get<uint64_t>());
  // The largest 64-bit integer has no double: its neighbour, a power of two, no longer fits.
  const bool is_whole =
      json.is_number_integer() || (found == std::floor(found) && std::abs(found) < std::ldexp(1.0, 63));
  if (is_large || !is_whole) return refuse("a whole number");
  const auto number = json.is_number_float() ? static_cast<int64_t>(found) : json.get<int64_t>();
  if (number < least || number > most)
    return refuse(fmt::format("a whole number from {} to {}", least, most));
  if (is_within(found, note)) take(value, number, note);
}

void Members::number(double& value, const Note& note) {
  auto& json = *here().json;
  if (is_written(value, "number", note)) {
    if (writes() && !std::isfinite(value)) json = nullptr;
  } else if (json.is_null() && !std::isfinite(note.least)) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (!json.is_number()) {
    refuse("a number");
  } else if (is_within(json.get<double>(), note)) {
    take(value, json.get<double>(), note);
  }
}

void Members::text(std::string& value, const Note& note) {
  if (is_written(value, "string", note)) return;
  const auto& json = *here().json;
  if (!json.is_string() || json.get_ref<const std::string&>().size() < note.fewest) return refuse("a text");
  take(value, json.get<std::string>(), note);
}

void Members::word(const std::vector<std::string>& words, size_t& index) {
  auto& json = *here().json;
  if (writes()) json = words.at(index);
  if (task_ == Task::specify) json["enum"] = words;
  if (!reads()) return;
  const auto found = json.is_string() ? std::ranges::find(words, json.get<std::string>()) : words.end();
  if (found == words.end()) return refuse(fmt::format("{}", fmt::join(words, " or ")));
  index = static_cast<size_t>(found - words.begin());
}

void Members::any(Json& value) {
  if (writes()) *here().json = value;
  if (reads()) value = *here().json;
}

bool is_computable(double number) {
  const double magnitude = std::abs(number);
  return number == 0.0 || (magnitude >= least_magnitude && magnitude <= greatest_magnitude);
}

std::span<const NamedValue<ExitCode>> words_of(ExitCode /*code*/) {
  static const auto words = [] {
    std::vector<NamedValue<ExitCode>> made;
    for (const auto& row : exit_code_table()) made.push_back({row.status, row.code});
    return made;
  }();
  return words;
}

Json json_from(std::string_view text) {
  if (nests_too_deep(text)) throw InputError("it is nested in more than {} levels", most_levels);
  return Json::parse(text);
}

std::string text_in_json(const std::string& text) { return Json::parse(json_text(text)).get<std::string>(); }

Json written(const Visit& visit) {
  Json json;
  Members members(Members::Task::write, json);
  visit(members);
  return json;
}

std::string document_text(const Visit& visit, bool is_line) {
  return is_line ? json_text(written(visit)) : json_text(written(visit), 1) + "\n";
}

std::string schema_text(std::string_view title, std::span<void (*const)(Members&)> types) {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", title},
              {"description",
               "Sizes are bytes, times are seconds, clocks are reference cycles. null stands for what a run "
               "did not come to, and for NaN and infinity."}};
  if (types.size() == 1) {
    schema.update(specified(types.front()));
  } else {
    for (auto* const type : types) schema["anyOf"].push_back(specified(type));
  }
  return json_text(schema, 1) + "\n";
}

bool is_read(const Visit& visit, std::string_view text) {
  try {
    read_into(visit, json_from(text));
    return true;
  } catch (const InputError&) {
    return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

void read_into(const Visit& visit, const Json& json) {
  Members members(Members::Task::read,
                  const_cast<Json&>(json));  // NOLINT(*-const-cast): reading changes nothing
  try {
    visit(members);
  } catch (const InputError& error) {
    members.add(error.what());
  }
  members.finish();
}

Json specified(const Visit& visit) {
  Json schema = Json::object();
  Members members(Members::Task::specify, schema);
  visit(members);
  return schema;
}

}  // namespace cg2d
