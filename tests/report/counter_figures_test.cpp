// Figures made of made-up counts.

#include "cg/report/phase_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cg2d::counter_figures_test {
namespace {

/// Totals of `in_multiply` in multiply, a tenth of it in dot, none elsewhere.
PhaseTotals totals(double in_multiply) {
  PhaseTotals made{};
  made[index_of(Phase::multiply)] = in_multiply;
  made[index_of(Phase::dot)] = in_multiply / 10.0;
  return made;
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
  const auto figures = counter_figures(
      {.names = {"perf::INSTRUCTIONS", "PAPI_TOT_CYC", "perf::STALLED-CYCLES-BACKEND", "PAPI_BR_INS",
                 "PAPI_BR_MSP", "PAPI_L3_TCM", "PAPI_DP_OPS", "perf::TASK-CLOCK"},
       .totals = {totals(3000), totals(1500), totals(900), totals(200), totals(5), totals(100), totals(1600),
                  totals(7)},
       .nonzeros_multiplied = 800.0});
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::multiply), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::dot), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "stalled_cycle_share"), Phase::multiply), 0.6);
  EXPECT_DOUBLE_EQ(in(find(figures, "misprediction_share"), Phase::multiply), 0.025);
  EXPECT_DOUBLE_EQ(in(find(figures, "flops_per_cycle"), Phase::multiply), 1600.0 / 1500.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "flops_per_nonzero"), Phase::multiply), 2.0);
  EXPECT_DOUBLE_EQ(in(find(figures, "memory_bytes_per_nonzero"), Phase::multiply), 8.0);  // lines of 64 bytes
  EXPECT_EQ(find(figures, "instructions_per_cycle")->events,
            (std::vector<std::string>{"perf::INSTRUCTIONS", "PAPI_TOT_CYC"}));
}

TEST(CounterFiguresTest, AreThereOnlyWhereTheyMeanSomething) {
  const auto figures = counter_figures({.names = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L3_TCM"},
                                        .totals = {totals(10), totals(0), totals(64)},
                                        .nonzeros_multiplied = 64.0});
  EXPECT_DOUBLE_EQ(in(find(figures, "instructions_per_cycle"), Phase::multiply),
                   -2.0);                                                             // no cycles: no ratio
  EXPECT_DOUBLE_EQ(in(find(figures, "memory_bytes_per_nonzero"), Phase::dot), -2.0);  // no nonzeros there
  EXPECT_EQ(find(figures, "stalled_cycle_share"), nullptr);
  EXPECT_TRUE(counter_figures({.names = {"PAPI_TOT_INS"}, .totals = {totals(1)}, .nonzeros_multiplied = 1.0})
                  .empty());
}

TEST(FigureTableTest, NamesAreUniqueAndFitTheTable) {
  for (const auto& row : figure_table()) {
    EXPECT_EQ(std::ranges::count(figure_table(), row.name, &FigureRow::name), 1) << row.name;
    EXPECT_LE(row.description.size(), 28U) << row.name;
  }
}

}  // namespace
}  // namespace cg2d::counter_figures_test
