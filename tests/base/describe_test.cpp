// One description of a struct: its JSON, what is read of it, its schema; JSON from files that may hold anything.

#include "cg/base/describe_json.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"

namespace cg2d::describe_test {

enum class Transport { two_sided, shared };
std::span<const NamedValue<Transport>> words_of(Transport /*value*/) {
  static constexpr std::array table{NamedValue<Transport>{"two-sided", Transport::two_sided},
                                    NamedValue<Transport>{"shared", Transport::shared}};
  return table;
}

struct Rank {
  int64_t nonzeros = 0;
  double mean = 0.0;
};
void describe(Members& m, Rank& rank) {
  m("nonzeros", rank.nonzeros, at_least(0));
  m("mean", rank.mean);
}

struct Result {
  std::string problem;
  int ranks = 1;
  Transport transport = Transport::shared;
  double time_s = 0.0;
  std::optional<double> error;
  std::optional<Rank> slowest;
  std::vector<double> times_s;
  std::vector<Rank> setup;
  Named<double> phases;
  std::map<std::string, int> counts;
  std::array<double, 2> load{};
};
void describe(Members& m, Result& result) {
  m.constant("schema_version", 1);
  m("problem", result.problem, not_empty());
  m("ranks", result.ranks, in_column("ranks", at_least(1)));
  m("transport", result.transport);
  m("time_s", result.time_s, metric("Time", "s", "Of the timed region."));
  m("error", result.error, or_null("Of zeta."));
  m("slowest", result.slowest);
  m("times_s", result.times_s, {.fewest = 1});
  m("setup", result.setup);
  m("phases", result.phases);
  m("counts", result.counts);
  m("load", result.load);
}

Result some_result() {
  return {.problem = "A",
          .ranks = 2,
          .transport = Transport::two_sided,
          .time_s = 0.5,
          .error = {},
          .slowest = {},
          .times_s = {0.5, 0.75},
          .setup = {{.nonzeros = 3, .mean = std::numeric_limits<double>::quiet_NaN()}},
          .phases = {{"multiply", 0.25}, {"dot", 0.125}},
          .counts = {{"b", 2}, {"a", 1}},
          .load = {1.0, 2.0}};
}

std::string problem_with(const std::string& text) {
  return test::message_of([&] { static_cast<void>(from_json<Result>(Json::parse(text))); });
}

TEST(Describe, WritesEveryMemberInItsOrder) {
  EXPECT_EQ(
      json_of(some_result()).dump(),
      R"({"schema_version":1,"problem":"A","ranks":2,"transport":"two-sided","time_s":0.5,"error":null,)"
      R"("times_s":[0.5,0.75],"setup":[{"nonzeros":3,"mean":null}],"phases":{"multiply":0.25,"dot":0.125},)"
      R"("counts":{"a":1,"b":2},"load":[1.0,2.0]})");
}

TEST(Describe, ReadsBackWhatItWrote) {
  auto result = some_result();
  result.slowest = Rank{.nonzeros = std::numeric_limits<int64_t>::max(), .mean = -1.5};
  const auto json = json_of(result);
  EXPECT_EQ(json_of(from_json<Result>(json)), json);
  EXPECT_TRUE(std::isnan(from_json<Result>(json).setup.front().mean));
}

TEST(Describe, NamesThePlaceOfEachProblemAndWhatWouldBeRight) {
  auto json = json_of(some_result());
  json["schema_version"] = 2;
  json["ranks"] = 0;
  json["transport"] = "pigeon";
  json["setup"][0]["nonzeros"] = 1.5;
  json["setup"].push_back(7);
  json["phases"]["dot"] = "fast";
  json["load"] = Json::array({1.0});
  json["rank"] = 1;
  json.erase("times_s");
  EXPECT_EQ(
      problem_with(json.dump()),
      "9 problems: \"schema_version\" is 2, which this program does not read; \"ranks\" is 0: it must be at "
      "least 1; \"transport\" is \"pigeon\": it must be two-sided or shared; \"times_s\" is missing; "
      "\"setup[0].nonzeros\" is 1.5: it must be a whole number; \"setup[1]\" is 7: it must be an object; "
      "\"phases.dot\" is \"fast\": it must be a number; \"load\" is [1.0]: it must be a list of at least 2; "
      "\"rank\" is nothing that is read here; did you mean ranks?");
  EXPECT_EQ(problem_with("[]"), "an object is needed");
  auto other = json_of(some_result());
  other["problem"] = 7;
  other["setup"] = Json::object();
  EXPECT_EQ(problem_with(other.dump()),
            "2 problems: \"problem\" is 7: it must be a text; \"setup\" is {}: it must be a list");
}

TEST(Describe, RefusesNumbersThatDoNotFit) {
  for (const auto* const number :
       {"2147483648", "1e300", "-9223372036854775809", "18446744073709551615", "null", "0.5"}) {
    auto json = json_of(some_result());
    json["ranks"] = Json::parse(number);
    EXPECT_NE(problem_with(json.dump()).find("\"ranks\" is"), std::string::npos) << number;
  }
  auto json = json_of(some_result());
  json["ranks"] = 2.0;
  EXPECT_EQ(from_json<Result>(json).ranks, 2);
  json["time_s"] = nullptr;  // a number with a least value cannot be missing
  EXPECT_NE(problem_with(json.dump()).find("\"time_s\" is null: it must be a number"), std::string::npos);
}

TEST(Describe, SpecifiesTypesUnitsAndMeanings) {
  const auto schema = schema_of<Result>();
  const auto& properties = schema.at("properties");
  EXPECT_EQ(
      schema.at("required").dump(),
      R"(["schema_version","problem","ranks","transport","time_s","error","times_s","setup","phases","counts","load"])");
  EXPECT_FALSE(schema.at("additionalProperties").get<bool>());
  EXPECT_EQ(
      properties.at("time_s").dump(),
      R"({"description":"Of the timed region.","label":"Time","unit":"s","metric":true,"type":"number","minimum":0.0})");
  EXPECT_EQ(properties.at("error").dump(),
            R"({"description":"Of zeta.","anyOf":[{"type":"null"},{"type":["number","null"]}]})");
  EXPECT_EQ(properties.at("ranks").dump(), R"({"columns":{"ranks":"maximum"},"type":"integer","minimum":1})");
  EXPECT_EQ(properties.at("transport").dump(), R"({"enum":["two-sided","shared"]})");
  EXPECT_EQ(properties.at("times_s").dump(),
            R"({"type":"array","minItems":1,"items":{"type":["number","null"]}})");
  EXPECT_EQ(properties.at("phases").dump(),
            R"({"type":"object","additionalProperties":{"type":["number","null"]}})");
  EXPECT_EQ(properties.at("setup").at("items").at("properties").at("nonzeros").dump(),
            R"({"type":"integer","minimum":0})");
}

// ---------------------------------------------------------------- JSON from files that may hold anything

std::string nested(int levels) {
  const auto count = static_cast<size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonFromTest, TextsThatAreNestedDeeplyAreRefused) {
  EXPECT_TRUE(json_from(nested(100)).is_array());
  EXPECT_THROW(json_from(nested(101)), InputError);
  EXPECT_THROW(json_from(nested(100'000)), InputError);
  EXPECT_THROW(json_from(std::string(100'000, '[')), InputError);
  std::string objects;
  for (int k = 0; k < 100'000; ++k) objects += R"({"a":)";
  EXPECT_THROW(json_from(objects), InputError);
}

TEST(JsonFromTest, BracketsInTextsAreNoLevels) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(json_from("\"" + brackets + "\"").get<std::string>(), brackets);
  EXPECT_EQ(json_from(R"(["\"", ")" + brackets + "\"]")[1].get<std::string>(), brackets);
  EXPECT_EQ(json_from(R"(["\\", [[]]])").size(), 2U);
}

}  // namespace cg2d::describe_test
