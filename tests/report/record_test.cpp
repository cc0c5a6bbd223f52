// Parts of results that are described once: their JSON, and their schema.

#include "cg/base/json_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cg/report/phase_record.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/solve/solve_record.hpp"

namespace cg2d::record_test {
namespace {

struct Place {
  std::string name;
  std::int64_t height_m = 0;
  std::optional<double> depth_m;
};

const Record<Place>& place_record() {
  static const Record<Place> record{
      "place",
      {{"name", name_type(), &Place::name},
       {"height_m", count_type(), &Place::height_m, "Above the sea."},
       {"depth_m", seconds_type(), [](const auto& place) { return value_or_null(place.depth_m); }, "",
        Presence::if_known}},
      "A place."};
  return record;
}

TEST(Record, GivesMembersInTheirOrder) {
  EXPECT_EQ(json_text(json_of(place_record(), {"Ulm", 478, 2.5})),
            R"({"name":"Ulm","height_m":478,"depth_m":2.5})");
  EXPECT_EQ(json_text(json_of(place_record(), {"Ulm", 478, {}})), R"({"name":"Ulm","height_m":478})");
}

TEST(Record, NumbersTheObjectsOfAList) {
  using Places = std::vector<Place>;
  const Places places{{"Ulm", 478, {}}, {"Bonn", 60, {}}};
  const Record<Places> record{"places",
                              {numbered_list<Places>("ranks", "rank", place_record(), std::identity())}};
  EXPECT_EQ(json_text(json_of(record, places)),
            R"({"ranks":[{"rank":0,"name":"Ulm","height_m":478},{"rank":1,"name":"Bonn","height_m":60}]})");
  EXPECT_EQ(schema_of(record)["properties"]["ranks"]["items"]["$def"]["place"]["required"],
            Json::parse(R"(["rank", "name", "height_m"])"));
}

TEST(Record, SchemaRequiresWhatIsAlwaysThere) {
  const auto schema = schema_of(place_record());
  EXPECT_EQ(schema["required"], Json::parse(R"(["name", "height_m"])"));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["description"], "A place.");
  EXPECT_EQ(schema["properties"]["height_m"]["description"], "Above the sea.");
}

TEST(Record, TypesThatHaveNamesStandInTheDefinitionsOnce) {
  const Record<Place> pair{"pair",
                           {part<Place>("one", place_record(), std::identity()),
                            part<Place>("other", place_record(), [](const Place& place) { return &place; })}};
  const auto schema = document_schema("places", type_of(pair));
  EXPECT_EQ(json_text(schema["properties"]["one"]), R"({"$ref":"#/$defs/place"})");
  EXPECT_EQ(json_text(schema["properties"]["other"]),
            R"({"anyOf":[{"type":"null"},{"$ref":"#/$defs/place"}]})");
  EXPECT_EQ(schema["$defs"]["place"]["properties"]["name"]["$ref"], "#/$defs/name");
  EXPECT_FALSE(schema["$defs"].contains("pair"));
  EXPECT_THROW(static_cast<void>(document_schema(
                   "two", list_type(with(named_type("place", text_type()), "not", type_of(place_record()))))),
               std::logic_error);
}

TEST(Record, FiguresAreShownWhereTheirTypesSaySo) {
  using Places = std::vector<Place>;
  const Record<Place> place{"place",
                            {{"name", column(name_type(), "town"), &Place::name},
                             {"height_m", metric(count_type(), "Height", "m"), &Place::height_m}}};
  const Record<Place> depth{"depth", {{"depth_m", metric(seconds_type(), "Depth", "m"), &Place::depth_m}}};
  const Record<Places> record{
      "places",
      {{"is_long", column(labelled(flag_type(), "Long"), "long", "no/yes"),
        [](const auto& places) { return places.size() > 2; }},
       part<Places>(
           "first", place, [](const Places& places) -> const auto& { return places.front(); }),
       part<Places>("third", place,
                    [](const Places& places) { return places.size() > 2 ? &places[2] : nullptr; }),
       list_figure<Places>("all", depth, std::identity())}};
  const auto shown = shown_figures(type_of(record));
  const auto document = json_of(record, {{"Ulm, Donau", 478, 3.0}, {"Bonn", 60, 9.0}});
  EXPECT_EQ(
      labelled_lines(shown, document),
      " Long            = false\n Height          = 478 m\n Depth           = 9 m on the largest rank\n");
  EXPECT_EQ(csv_header(shown), "long,town,height_m,depth_m");
  EXPECT_EQ(csv_cells(shown, document), "no,\"Ulm, Donau\",478,9.0") << document;
}

TEST(Record, EachPhaseHasItsColumns) {
  using Height = std::int64_t;
  const Record<Height> of_phase{
      "of_phase", {{"height_m", column(column(count_type(), "*_s"), "shuffle_only_s"), std::identity()}}};
  const Record<Place> record{"place", {{"phases", by_phase_type(type_of(of_phase)), [&](const auto& place) {
                                          return json_by_phase([&](auto index) {
                                            return json_of(of_phase,
                                                           place.height_m + static_cast<Height>(index));
                                          });
                                        }}}};
  const auto shown = shown_figures(type_of(record));
  EXPECT_EQ(csv_header(shown),
            "collection_s,multiply_s,summation_s,shuffle_s,shuffle_only_s,dot_s,vector_updates_s");
  EXPECT_EQ(csv_cells(shown, json_of(record, {"Ulm", 10, {}})), "10,11,12,13,13,14,15");
}

TEST(Record, AMetricOfAResultStandsInEveryForm) {
  const auto is_metric = [](const auto& figure) { return figure.is_metric && figure.column == "peak_bytes"; };
  EXPECT_TRUE(std::ranges::any_of(run_figures(), is_metric));
  EXPECT_TRUE(std::ranges::any_of(solve_figures(), is_metric));
}

}  // namespace
}  // namespace cg2d::record_test
