#include "cg/base/describe_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

// The files of cg2d have 10 levels at most.
constexpr int most_levels = 100;

/// Whether arrays and objects are within each other in more levels. A text that is no JSON gives any answer for
/// the part after its first error, which no parser reads.
bool nests_too_deep(std::string_view text) {
  int level = 0;
  bool is_string = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
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

class JsonWriter final : public Members {
 public:
  explicit JsonWriter(Json& target) : places_{&target} {}

  [[nodiscard]] bool writes() const override { return true; }

 protected:
  bool enter(std::string_view name, const Note& note, bool /*is_optional*/, bool has_value) override {
    if (!has_value && !note.is_null) return false;
    places_.push_back(&(*places_.back())[std::string(name)]);
    if (!has_value) leave();
    return has_value;
  }
  void leave() override { places_.pop_back(); }
  void begin_object() override { *places_.back() = Json::object(); }
  std::size_t begin_list(std::size_t size, const Note& /*note*/) override {
    *places_.back() = Json::array();
    return size;
  }
  void enter_item(std::size_t /*index*/) override { places_.push_back(&places_.back()->emplace_back()); }
  void flag(bool& value, const Note& /*note*/) override { *places_.back() = value; }
  void integer(std::int64_t& value, std::int64_t /*least*/, std::int64_t /*most*/,
               const Note& /*note*/) override {
    *places_.back() = value;
  }
  void number(double& value, const Note& /*note*/) override {
    *places_.back() = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  void text(std::string& value, const Note& /*note*/) override { *places_.back() = value; }
  void word(const std::vector<std::string>& words, std::size_t& index) override {
    *places_.back() = words.at(index);
  }
  void any(Json& value) override { *places_.back() = value; }

 private:
  std::vector<Json*> places_;  ///< from the whole to what is being written
};

class JsonReader final : public Members {
 public:
  explicit JsonReader(const Json& source) : places_{{.json = &source}} {}

  [[nodiscard]] bool reads() const override { return true; }
  void add(std::string problem) {
    if (std::ranges::find(problems_, problem) == problems_.end()) problems_.push_back(std::move(problem));
  }
  void complain(const std::string& problem) override {
    if (here().json->is_object()) add(problem);
  }
  [[nodiscard]] std::string where(std::string_view name) const override {
    const auto above = path();
    return fmt::format("\"{}{}{}\"", above, above.empty() ? "" : ".", name);
  }
  bool has(std::string_view name) override {
    here().known.emplace_back(name);
    const auto& json = *here().json;
    return json.is_object() && json.contains(std::string(name)) && !json.at(std::string(name)).is_null();
  }
  /// Throws what was complained of.
  void finish() const {
    constexpr std::ptrdiff_t most_shown = 12;
    if (problems_.empty()) return;
    if (problems_.size() == 1) throw InputError(problems_.front(), code_);
    const auto shown = std::min(std::ssize(problems_), most_shown);
    const auto others = std::ssize(problems_) - shown;
    throw InputError(fmt::format("{} problems: {}{}", problems_.size(),
                                 fmt::join(problems_.begin(), problems_.begin() + shown, "; "),
                                 others > 0 ? fmt::format("; and {} more", others) : ""),
                     code_);
  }

 protected:
  bool enter(std::string_view name, const Note& note, bool is_optional, bool /*has_value*/) override {
    here().known.emplace_back(name);
    if (!here().json->is_object()) return false;  // complained of already
    const auto found = here().json->find(std::string(name));
    const bool is_there = found != here().json->end();
    if (is_optional && (!is_there || found->is_null())) return false;
    if (!is_there) {
      complain(fmt::format("{} is missing{}", where(name),
                           note.meaning.empty() ? "" : fmt::format(" ({})", note.meaning)));
      return false;
    }
    places_.push_back({.json = &*found, .name = name});
    return true;
  }
  void leave() override { places_.pop_back(); }
  void begin_object() override {
    if (!here().json->is_object()) refuse("an object");
  }
  void end_object() override {
    if (!here().json->is_object()) return;
    for (const auto& [key, value] : here().json->items()) {
      if (std::ranges::find(here().known, key) == here().known.end())
        complain(
            fmt::format("{} is nothing that is read here{}", where(key), did_you_mean(key, here().known)));
    }
  }
  std::vector<std::string> begin_map(std::vector<std::string> /*names*/) override {
    begin_object();
    std::vector<std::string> names;
    if (here().json->is_object()) {
      for (const auto& [key, value] : here().json->items()) names.push_back(key);
    }
    return names;
  }
  std::size_t begin_list(std::size_t /*size*/, const Note& note) override {
    if (!here().json->is_array() || here().json->size() < note.fewest) {
      refuse(note.fewest == 0 ? "a list" : fmt::format("a list of at least {}", note.fewest));
      return 0;
    }
    return here().json->size();
  }
  void enter_item(std::size_t index) override {
    places_.push_back({.json = &here().json->at(index), .index = index});
  }
  void flag(bool& value, const Note& note) override {
    if (!here().json->is_boolean()) return refuse("true or false");
    take(value, here().json->get<bool>(), note);
  }
  void integer(std::int64_t& value, std::int64_t least, std::int64_t most, const Note& note) override {
    const auto& json = *here().json;
    const double found = json.is_number() ? json.get<double>() : 0.5;
    const bool is_large =
        json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>());
    // The largest 64-bit integer has no double: its neighbour, a power of two, no longer fits.
    const bool is_whole =
        json.is_number_integer() || (found == std::floor(found) && std::abs(found) < std::ldexp(1.0, 63));
    if (is_large || !is_whole) return refuse("a whole number");
    const auto number = json.is_number_float() ? static_cast<std::int64_t>(found) : json.get<std::int64_t>();
    if (number < least || number > most)
      return refuse(fmt::format("a whole number from {} to {}", least, most));
    if (is_within(found, note)) take(value, number, note);
  }
  void number(double& value, const Note& note) override {
    if (here().json->is_null() && !std::isfinite(note.least)) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (!here().json->is_number()) {
      refuse("a number");
    } else if (is_within(here().json->get<double>(), note)) {
      take(value, here().json->get<double>(), note);
    }
  }
  void text(std::string& value, const Note& note) override {
    if (!here().json->is_string() || here().json->get_ref<const std::string&>().size() < note.fewest)
      return refuse("a text");
    take(value, here().json->get<std::string>(), note);
  }
  void word(const std::vector<std::string>& words, std::size_t& index) override {
    const auto found =
        here().json->is_string() ? std::ranges::find(words, here().json->get<std::string>()) : words.end();
    if (found == words.end()) return refuse(fmt::format("{}", fmt::join(words, " or ")));
    index = static_cast<std::size_t>(found - words.begin());
  }
  void any(Json& value) override { value = *here().json; }

 private:
  struct Place {
    const Json* json;
    std::string_view name{};             ///< of a member
    std::optional<std::size_t> index{};  ///< of an entry of a list
    std::vector<std::string> known{};    ///< members that were asked for
  };

  [[nodiscard]] Place& here() { return places_.back(); }
  /// Most members need none: it is put together for those that are complained of.
  [[nodiscard]] std::string path() const {
    std::string text;
    for (std::size_t depth = 1; depth < places_.size(); ++depth) {
      const auto& [json, name, index, known] = places_[depth];
      text += index ? fmt::format("[{}]", *index) : fmt::format("{}{}", text.empty() ? "" : ".", name);
    }
    return text;
  }
  void refuse(const std::string& needed) {
    constexpr std::size_t most_shown = 40;
    const auto shown = json_text(*here().json).substr(0, most_shown);
    add(places_.size() == 1 ? fmt::format("{} is needed", needed)
                            : fmt::format("\"{}\" is {}: it must be {}", path(), shown, needed));
  }
  template <typename Value>
  void take(Value& value, Value found, const Note& note) {
    if (note.is_constant && found != value)
      return add(
          fmt::format("\"{}\" is {}, which this program does not read", path(), json_text(*here().json)));
    value = std::move(found);
  }
  bool is_within(double value, const Note& note) {
    if (value >= note.least && note.is_computable && !is_computable(value)) {
      code_ = ExitCode::bad_data;
      refuse(fmt::format("within {:g} ... {:g}", least_magnitude, greatest_magnitude));
      return false;
    }
    if (value > note.least || (value == note.least && !note.is_above)) return true;
    refuse(note.is_above ? fmt::format("greater than {:g}", note.least)
                         : fmt::format("at least {:g}", note.least));
    return false;
  }

  std::vector<Place> places_;
  std::vector<std::string> problems_;
  ExitCode code_ = ExitCode::usage;
};

class SchemaWriter final : public Members {
 public:
  explicit SchemaWriter(Json& target) : places_{&target} {}

 protected:
  bool enter(std::string_view name, const Note& note, bool is_optional, bool /*has_value*/) override {
    auto& whole = *places_.back();
    if (&whole != way_ && (!is_optional || note.is_null)) whole["required"].push_back(name);
    auto& member = whole["properties"][std::string(name)];
    for (const auto& [key, text] :
         {std::pair("description", note.meaning), {"label", note.label}, {"unit", note.unit}}) {
      if (!text.empty()) member[key] = text;
    }
    if (!note.mean_column.empty()) member["columns"][std::string(note.mean_column)] = "mean";
    if (!note.column.empty()) member["columns"][std::string(note.column)] = "maximum";
    if (note.is_metric) member["metric"] = true;
    const bool may_be_null = is_optional && note.is_null;
    if (may_be_null) member["anyOf"] = Json::array({Json{{"type", "null"}}, Json::object()});
    places_.push_back(may_be_null ? &member["anyOf"].back() : &member);
    return true;
  }
  void leave() override { places_.pop_back(); }
  void begin_object() override {
    places_.back()->update({{"type", "object"},
                            {"additionalProperties", false},
                            {"required", Json::array()},
                            {"properties", Json::object()}});
  }
  std::vector<std::string> begin_map(std::vector<std::string> /*names*/) override {
    auto& map = *places_.back();
    map["type"] = "object";
    map["required"] = Json::array();
    return {any_name};
  }
  void end_map() override {
    // The one member was specified as any other.
    auto& map = *places_.back();
    map["additionalProperties"] = map["properties"][any_name];
    map.erase("required");
    map.erase("properties");
  }
  std::size_t begin_list(std::size_t size, const Note& note) override {
    auto& list = *places_.back();
    list["type"] = "array";
    if (note.fewest > 0) list["minItems"] = note.fewest;
    return std::max<std::size_t>(size, 1);
  }
  void enter_item(std::size_t /*index*/) override {
    places_.push_back(&((*places_.back())["items"] = Json::object()));
  }
  void set_way(bool begins) override { way_ = begins ? places_.back() : nullptr; }
  void flag(bool& value, const Note& note) override { type("boolean", value, note); }
  void integer(std::int64_t& value, std::int64_t /*least*/, std::int64_t /*most*/,
               const Note& note) override {
    type("integer", value, note);
    if (std::isfinite(note.least))
      (*places_.back())["minimum"] = static_cast<std::int64_t>(note.least) + (note.is_above ? 1 : 0);
  }
  void number(double& value, const Note& note) override {
    type(std::isfinite(note.least) ? Json("number") : Json({"number", "null"}), value, note);
    if (std::isfinite(note.least))
      (*places_.back())[note.is_above ? "exclusiveMinimum" : "minimum"] = note.least;
  }
  void text(std::string& value, const Note& note) override {
    type("string", value, note);
    if (note.fewest > 0) (*places_.back())["minLength"] = note.fewest;
  }
  void word(const std::vector<std::string>& words, std::size_t& /*index*/) override {
    (*places_.back())["enum"] = words;
  }
  void any(Json& /*value*/) override {}

 private:
  static constexpr const char* any_name = "*";

  template <typename Value>
  void type(Json name, const Value& value, const Note& note) {
    (*places_.back())["type"] = std::move(name);
    if (note.is_constant) (*places_.back())["const"] = value;
  }

  std::vector<Json*> places_;
  const Json* way_ = nullptr;  ///< whose members no schema demands, for now
};

}  // namespace

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
  JsonWriter writer(json);
  visit(writer);
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
  JsonReader reader(json);
  try {
    visit(reader);
  } catch (const InputError& error) {
    reader.add(error.what());
  }
  reader.finish();
}

Json specified(const Visit& visit) {
  Json schema = Json::object();
  SchemaWriter writer(schema);
  visit(writer);
  return schema;
}

}  // namespace cg2d
