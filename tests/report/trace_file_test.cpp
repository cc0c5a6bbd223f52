// Traces without a run: recorded events, and clocks that differ by a known offset and rate.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cg/report/report.hpp"
#include "cg/timing/phase_trace.hpp"

namespace cg2d::trace_file_test {
namespace {

TEST(PhaseTraceTest, EndsBehindTheLastStepAndClosesItsOuterIteration) {
  PhaseTrace trace(2);
  const auto before = read_cycle_counter();
  trace.begin(TraceEvent::outer_iteration);
  const auto begun = read_cycle_counter();
  for (int step = 0; step < 4; ++step) {
    trace.begin(TraceEvent::cg_step);
    trace.after_phase(Phase::dot, before, read_cycle_counter());
    trace.end(TraceEvent::cg_step);
  }
  trace.end(TraceEvent::outer_iteration);
  ASSERT_EQ(trace.events().size(), 5U);
  EXPECT_EQ(trace.events()[1].kind, TraceEvent::cg_step);
  EXPECT_EQ(trace.events()[3].number, 1);
  EXPECT_GE(trace.events()[1].begin, begun);
  EXPECT_GE(trace.events()[3].begin, trace.events()[1].end);
  const auto& last = trace.events().back();
  EXPECT_EQ(last.kind, TraceEvent::outer_iteration);
  EXPECT_GE(last.begin, before);
  EXPECT_LE(last.begin, begun);
  EXPECT_GE(last.end, trace.events()[3].end);
}

TEST(ClockAlignmentTest, TakesTheShortestRoundTrip) {
  const std::array<RoundTrip, 3> trips{{{.sent = 100, .answered = 5000, .received = 300},
                                        {.sent = 400, .answered = 5310, .received = 420},
                                        {.sent = 500, .answered = 5450, .received = 600}}};
  const auto mark = mark_from(trips);
  EXPECT_EQ(mark.local_clocks, 410U);
  EXPECT_EQ(mark.reference_clocks, 5310U);
  EXPECT_EQ(mark.uncertainty_clocks, 10.0);
}

/// A counter that is ahead and slower, asked over messages of changing and lopsided duration.
TEST(ClockAlignmentTest, FindsOffsetAndRateWithinItsUncertainty) {
  constexpr double rate = 0.75;  // clocks of this rank per clock of rank 0
  constexpr double offset = 9e9;
  const auto local = [&](double reference) { return static_cast<uint64_t>(offset + rate * reference); };
  const auto mark_at = [&](double reference) {
    std::vector<RoundTrip> trips;
    for (const double there : {700.0, 120.0, 2000.0}) {
      const double back = 3000.0 - there;
      trips.push_back({.sent = local(reference),
                       .answered = static_cast<uint64_t>(reference + there),
                       .received = local(reference + there + back * (there < 200.0 ? 0.1 : 1.0))});
      reference += 10'000.0;
    }
    return mark_from(trips);
  };
  const ClockMap map(mark_at(1e9), mark_at(3e9));
  EXPECT_GT(map.uncertainty_clocks(), 0.0);
  for (const double reference : {1.01e9, 1.5e9, 2.9e9}) {
    const double found = map.reference_clocks_since(1'000'000'000, local(reference)) + 1e9;
    EXPECT_LE(std::abs(found - reference), map.uncertainty_clocks() / rate + 2.0);
  }
}

TEST(TraceLinesTest, AreMicrosecondsToTheNanosecond) {
  const ClockMark start{.local_clocks = 1000, .reference_clocks = 5000, .uncertainty_clocks = 0.0};
  const std::array<TraceEvent, 2> events{
      {{.begin = 1000, .end = 3500, .kind = 1, .number = 0},
       {.begin = 1000, .end = 5000, .kind = TraceEvent::cg_step, .number = 6}}};
  const auto text = trace_lines({.events = events,
                                 .clocks = ClockMap(start, start),
                                 .origin_clocks = 4000,
                                 .ticks_per_second = 2e9,
                                 .rank = 3,
                                 .node = 1});
  EXPECT_EQ(
      text,
      ",\n{\"name\":\"multiply\",\"cat\":\"phase\",\"ph\":\"X\",\"ts\":0.500,\"dur\":1.250,\"pid\":1,\"tid\":"
      "3}"
      ",\n{\"name\":\"CG step 7\",\"cat\":\"cg_step\",\"ph\":\"X\",\"ts\":0.500,\"dur\":2.000,\"pid\":1,"
      "\"tid\":3}");
}

}  // namespace
}  // namespace cg2d::trace_file_test
