// Figures made of made-up counts.

#include "cg/report/phase_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cg2d::counter_figures_test {
namespace {

/// The figures of a rank with so many of each event in multiply, a tenth of it, rounded down, in dot, none elsewhere.
std::vector<CounterFigure> figures_of(const std::vector<std::pair<std::string, int64_t>>& events,
                                      double nonzeros_multiplied) {
  SessionReport report;
  RepeatReport repeat;
  auto& phases = repeat.counts.emplace_back().phases;
  for (const auto& [name, in_multiply] : events) {
    phases[index_of(Phase::multiply)][report.counters.counted.size()] = in_multiply;
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
}  // namespace cg2d::counter_figures_test
