// Traces.

#include <cmath>

#include "cg/base/agreement.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/report/report.hpp"
#include "cg/timing/phase_trace.hpp"

namespace cg2d {
namespace {

constexpr double nanoseconds_per_second = 1e9;
constexpr std::string_view trace_end = "\n]}\n";
constexpr double nanoseconds_per_microsecond = 1e3;

/// Name and category.
std::pair<std::string, std::string_view> bar_of(const TraceEvent& event, bool is_of_solve) {
  if (event.kind == TraceEvent::cg_step) return {fmt::format("CG step {}", event.number + 1), "cg_step"};
  if (event.kind != TraceEvent::outer_iteration)
    return {std::string(phase_name(phase_at(static_cast<size_t>(event.kind)))), "phase"};
  if (is_of_solve) return {"solve", "solve"};
  return {fmt::format("outer iteration {}", event.number + 1), "outer_iteration"};
}

/// The beginning of the file: properties of the run, names of nodes and ranks. The bars follow it.
std::string trace_head(const TraceOrigin& origin, std::span<const double> uncertainties_us) {
  std::string names = "[";
  const auto& configuration = origin.report.configuration;
  const auto& environment = *origin.report.environment;
  const auto add_name = [&](std::string_view of, const std::string& place, const std::string& name) {
    names += fmt::format(R"({}{{"name":"{}","ph":"M",{},"args":{{"name":{}}}}})",
                         names.size() == 1 ? "" : ",", of, place, json_text(name));
  };
  for (size_t node = 0; node < environment.nodes.size(); ++node)
    add_name("process_name", fmt::format(R"("pid":{})", node), environment.nodes[node].name);
  for (int rank = 0; rank < static_cast<int>(environment.ranks.size()); ++rank) {
    const auto& grid = configuration.grid;
    const auto place =
        origin.has_grid ? fmt::format(" (column {}, row {})", grid.column_of(rank), grid.row_of(rank)) : "";
    add_name("thread_name",
             fmt::format(R"("pid":{},"tid":{})", environment.ranks[static_cast<size_t>(rank)].node, rank),
             fmt::format("rank {}{}", rank, place));
  }
  Json facts{{"program", "cg2d"}, {"version", build_info::version}};
  for (const auto& [key, value] : origin.properties) facts[key] = value;
  facts["grid"] = origin.arrangement;
  facts["kernel"] = configuration.kernel;
  facts["transport"] = configuration.transport;
  facts["repetition"] = 1;
  facts["clock_uncertainty_us"] = uncertainties_us;
  return fmt::format("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{},\n\"traceEvents\":{}", json_text(facts),
                     names);
}

}  // namespace

std::string trace_lines(const RankTrace& trace) {
  const double nanoseconds_per_clock = nanoseconds_per_second / trace.ticks_per_second;
  const auto place = [&](uint64_t clocks) {
    return std::round(nanoseconds_per_clock *
                      trace.clocks.reference_clocks_since(trace.origin_clocks, clocks));
  };
  std::string text;
  for (const auto& event : trace.events) {
    // Begin and end are rounded to whole nanoseconds: a bar that ends where the next begins does not overlap
    // it.
    const double begin_ns = place(event.begin);
    const double length_ns = place(event.end) - begin_ns;
    const auto [name, category] = bar_of(event, trace.is_of_solve);
    text += fmt::format(
        ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{}}"
        "}",
        name, category, begin_ns / nanoseconds_per_microsecond, length_ns / nanoseconds_per_microsecond,
        trace.node, trace.rank);
  }
  return text;
}

TraceOrigin trace_origin_of(const RunReport& report) {
  return {.report = report,
          .arrangement = report.configuration.grid.name(),
          .properties = {{"class", report.problem.class_name}}};
}

std::string trace_text(const TraceOrigin& origin, std::span<const RankTrace> ranks) {
  std::vector<double> uncertainties_us;
  std::string lines;
  for (const auto& rank : ranks) {
    uncertainties_us.push_back(1e6 * rank.clocks.uncertainty_clocks() / rank.ticks_per_second);
    lines += trace_lines(rank);
  }
  return trace_head(origin, uncertainties_us) + lines + std::string(trace_end);
}

void write_trace(const TraceOrigin& origin, const RankTrace& mine, OutputFile* file, comm::RankGroup& group) {
  const double uncertainty_us = 1e6 * mine.clocks.uncertainty_clocks() /
                                origin.report.ranks[static_cast<size_t>(group.rank())].ticks_per_second;
  const auto uncertainties_us = group.gather_one(uncertainty_us);
  const auto my_lines = trace_lines(mine);
  Agreement agreement(group);
  if (group.rank() == 0) {
    agreement.attempt(
        [&] { file->write(rendered([&] { return trace_head(origin, uncertainties_us); }) + my_lines); });
    for (int rank = 1; rank < group.size(); ++rank) {
      const auto lines = group.receive_text(rank);  // also after a failure: the rank sends it
      agreement.attempt([&] { file->write(lines); });
    }
    agreement.attempt([&] {
      file->write(trace_end);
      file->commit();
    });
  } else {
    group.send_text(my_lines, 0);
  }
  agreement.reach();
}

}  // namespace cg2d
