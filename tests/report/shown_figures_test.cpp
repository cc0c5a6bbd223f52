// The figures that text, CSV and comparisons show of a document follow from its description.

#include "cg/report/shown_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"
#include "cg/timing/phase.hpp"

namespace cg2d::shown_figures_test {

struct Place {
  std::string name;
  int64_t height_m = 0;
  double depth_m = 0.0;
};
struct Places {
  bool is_long = false;
  Place first;
  std::optional<Place> third;
  std::vector<Place> all;
};

void describe(Members& m, Place& place) {
  m("name", place.name, in_column("town"));
  m("height_m", place.height_m, metric("Height", "m"));
}
void describe(Members& m, Places& places) {
  m("is_long", places.is_long, {.label = "Long", .column = "long"});
  m("first", places.first);
  m("third", places.third, or_null());
  m.list("ranks", places.all, {},
         [&](Place& place, size_t /*index*/) { m("depth_m", place.depth_m, metric("Depth", "m")); });
}

TEST(ShownFigures, AreShownWhereTheirDescriptionsSaySo) {
  const auto shown = shown_figures(schema_of<Places>());
  const auto document = json_of(
      Places{.first = {"Ulm, Donau", 478, 3.0}, .third = {}, .all = {{"Ulm", 478, 3.0}, {"Bonn", 60, 9.0}}});
  EXPECT_EQ(
      labelled_lines(shown, document),
      " Long            = false\n Height          = 478 m\n Depth           = 9 m on the largest rank\n");
  EXPECT_EQ(csv_header(shown), "long,town,height_m,depth_m");
  EXPECT_EQ(csv_cells(shown, document), "off,\"Ulm, Donau\",478,9.0") << document;
  EXPECT_EQ(csv_cell("Ulm\nDonau"), "\"Ulm\nDonau\"");
}

struct Heights {
  int64_t least_m = 10;
};
void describe(Members& m, Heights& heights) {
  m.object("phases", [&] {
    for (const auto phase : benchmark_phases)
      m.object(phase_name(phase), [&] {
        m.derived("height_m", heights.least_m + static_cast<int64_t>(index_of(phase)),
                  {.column = "shuffle_only_s", .mean_column = "*_s"});
      });
  });
}

TEST(ShownFigures, EachPhaseHasItsColumns) {
  const auto shown = shown_figures(schema_of<Heights>());
  EXPECT_EQ(csv_header(shown),
            "collection_s,multiply_s,summation_s,shuffle_s,shuffle_only_s,dot_s,vector_updates_s");
  EXPECT_EQ(csv_cells(shown, json_of(Heights{})), "10,11,12,13,13,14,15");
}

TEST(ShownFigures, AMetricOfAResultStandsInEveryForm) {
  const auto is_metric = [](const auto& figure) { return figure.is_metric && figure.column == "peak_bytes"; };
  EXPECT_TRUE(std::ranges::any_of(run_figures(), is_metric));
  EXPECT_TRUE(std::ranges::any_of(solve_figures(), is_metric));
}

}  // namespace cg2d::shown_figures_test
