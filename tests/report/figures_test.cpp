// Figures made of made-up counts; and those that text, CSV and comparisons show of a document, which follow from its description.

#include <gtest/gtest.h>

#include <cmath>

#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"

namespace cg2d::figures_test {
namespace {

/// The figures of a rank with so many of each event in multiply and in halo, a tenth of it, rounded down, in dot, none elsewhere.
std::vector<CounterFigure> figures_of(const std::vector<std::pair<std::string, int64_t>>& events,
                                      double nonzeros_multiplied) {
  SessionReport report;
  RepeatReport repeat;
  auto& phases = repeat.counts.emplace_back().phases;
  for (const auto& [name, in_multiply] : events) {
    phases[index_of(Phase::multiply)][report.counters.counted.size()] = in_multiply;
    phases[index_of(Phase::halo)][report.counters.counted.size()] = in_multiply;
    phases[index_of(Phase::dot)][report.counters.counted.size()] = in_multiply / 10;
    report.counters.counted.push_back(name);
  }
  return counter_figures({.report = report, .repeat = repeat, .nonzeros_multiplied = nonzeros_multiplied});
}

const CounterFigure* find(const std::vector<CounterFigure>& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, [](const auto& figure) { return figure.row->name; });
  return found == figures.end() ? nullptr : &*found;
}

double in(const CounterFigure* figure, Phase phase) {
  if (figure == nullptr) return -1.0;
  const double ratio = figure->phases[index_of(phase)];
  return std::isnan(ratio) ? -2.0 : ratio;
}

TEST(CounterFiguresTest, AreMadeOfWhatWasCounted) {
  const auto figures = figures_of({{"perf::INSTRUCTIONS", 3000},
                                   {"PAPI_TOT_CYC", 1500},
                                   {"perf::STALLED-CYCLES-BACKEND", 900},
                                   {"PAPI_BR_INS", 200},
                                   {"PAPI_BR_MSP", 5},
                                   {"PAPI_L3_TCM", 100},
                                   {"PAPI_DP_OPS", 1600},
                                   {"perf::TASK-CLOCK", 7}},
                                  800.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::multiply), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::dot), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::halo), 2.0);  // of solves
  EXPECT_DOUBLE_EQ(in(find(figures, "stalled_cycle_share"), Phase::multiply), 0.6);
  EXPECT_DOUBLE_EQ(in(find(figures, "misprediction_share"), Phase::multiply), 0.025);
  EXPECT_DOUBLE_EQ(in(find(figures, "flops_per_cycle"), Phase::multiply), 1600.0 / 1500.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "flops_per_nonzero"), Phase::multiply), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "memory_bytes_per_nonzero"), Phase::multiply), 8.0);  // lines of 64 bytes
  EXPECT_EQ(find(figures, "instructions_per_cycle")->events,
            (std::vector<std::string>{"perf::INSTRUCTIONS", "PAPI_TOT_CYC"}));
}

TEST(CounterFiguresTest, AreThereOnlyWhereTheyMeanSomething) {
  const auto figures = figures_of({{"PAPI_TOT_INS", 10}, {"PAPI_TOT_CYC", 0}, {"PAPI_L3_TCM", 64}}, 64.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::multiply),
                   -2.0);                                                             // no cycles: no ratio
  EXPECT_DOUBLE_EQ(in(find(figures, "memory_bytes_per_nonzero"), Phase::dot), -2.0);  // no nonzeros there
  EXPECT_EQ(find(figures, "stalled_cycle_share"), nullptr);
  EXPECT_TRUE(figures_of({{"PAPI_TOT_INS", 1}}, 1.0).empty());
}

}  // namespace

// Shown figures.

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
                  {.mean_column = "*_s"});
      });
  });
}

TEST(ShownFigures, EachPhaseHasItsColumns) {
  const auto shown = shown_figures(schema_of<Heights>());
  EXPECT_EQ(csv_header(shown), "collection_s,multiply_s,summation_s,shuffle_s,dot_s,vector_updates_s");
  EXPECT_EQ(csv_cells(shown, json_of(Heights{})), "10,11,12,13,14,15");
}

TEST(ShownFigures, AMetricOfAResultStandsInEveryForm) {
  const auto is_metric = [](const auto& figure) { return figure.is_metric && figure.column == "peak_bytes"; };
  EXPECT_TRUE(std::ranges::any_of(run_figures(), is_metric));
  EXPECT_TRUE(std::ranges::any_of(solve_figures(), is_metric));
}

}  // namespace cg2d::figures_test
