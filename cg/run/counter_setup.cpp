#include "cg/run/counter_setup.hpp"

#include <utility>

namespace cg2d {
std::unique_ptr<EventCounters> make_counters(const std::vector<std::string>& wanted,
                                             const CounterOptions& options, comm::RankGroup& group,
                                             const CounterNotes& notes) {
  auto setup = set_up_counters(wanted, options, group);
  notes.result.asked = setup.asked;
  notes.result.refused = setup.refused;
  notes.result.multiplexed = options.multiplexed;
  if (!setup.refused.empty()) {
    notes.warnings.push_back("--papi: " + refusal_text(setup.refused));
    notes.progress.warn(notes.warnings.back());
  }
  if (!setup.counters || setup.counters->event_names().empty()) return nullptr;
  notes.result.counted = setup.counters->event_names();
  notes.result.counts_all_threads = setup.counters->counts_all_threads();
  return std::move(setup.counters);
}

void note_doubts(const CounterResult& counters, const RepeatReport& repeat,
                 std::vector<std::string>& warnings) {
  for (std::size_t event = 0; event < counters.counted.size(); ++event) {
    auto doubt = doubt_about(counters, repeat, event);
    if (!doubt.empty()) warnings.push_back("--papi: " + std::move(doubt));
  }
}

}  // namespace cg2d
