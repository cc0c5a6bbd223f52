#include "cg/commands/counter_options.hpp"

#include <string>

#include "cg/base/errors.hpp"
#include "cg/commands/option_values.hpp"

namespace cg2d {

void add_counter_options(CLI::App& run, RunOptions& options) {
  const std::string group = "Counters and traces";
  auto& counters = options.counters;
  run.add_option(
         "--papi", counters.events,
         "count these events per phase, such as perf::TASK-CLOCK,PAPI_TOT_INS (cg2d events lists them; "
         "the environment's PAPI_EVENTS if not given)")
      ->check(file_name())
      ->type_name("EVENT[,EVENT...]")
      ->group(group);
  run.add_flag("--papi-multiplex", counters.multiplexed,
               "count more events than the processor can at a time: in turns, with estimated totals")
      ->group(group);
  run.add_flag("--papi-strict", counters.strict, "end with 69 if one of the events cannot be counted")
      ->group(group);
  run.add_flag(
         "--roofline", options.measures_limits,
         "measure the memory bandwidth and flops of this machine, and the share that each phase reaches")
      ->group(group);
  run.add_option("--trace", options.trace.path,
                 "write a time line of every phase to FILE (Chrome-trace JSON)")
      ->check(file_name())
      ->type_name("FILE")
      ->group(group);
  run.add_option("--trace-steps", options.trace.step_count, "CG steps in the trace, from the first one on")
      ->transform(decimal<int>())
      ->group(group);
}

void check_counter_options(const RunOptions& options) {
  const auto& trace = options.trace;
  if (!options.counters.events.empty()) {
    static_cast<void>(event_names_from(options.counters.events, "--papi"));
    if (!options.time_phases) throw InputError("--papi: events are counted per phase; leave --no-phases out");
  }
  if (options.measures_limits && !options.time_phases)
    throw InputError("--roofline: it compares the phases with their limits; leave --no-phases out");
  if (!trace.path.empty() && !options.time_phases)
    throw InputError("--trace: a trace consists of the phases; leave --no-phases out");
  require_within("--trace-steps", trace.step_count, TraceOptions::most_steps);
}

}  // namespace cg2d
