#include "cg/phase_timer.hpp"

#include <algorithm>
#include <limits>

namespace cg2d {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::collection:
      return "collection";
    case Phase::multiply:
      return "multiply";
    case Phase::summation:
      return "summation";
    case Phase::shuffle:
      return "shuffle";
    case Phase::dot:
      return "dot";
    case Phase::vector_updates:
      return "vector_updates";
  }
  return "";
}

double PhaseTimer::measure_clocks_per_scope() const {
  constexpr int batch_count = 8;
  constexpr int scopes_per_batch = 200;
  PhaseTimer probe(true, communicator_);
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const std::uint64_t begin = read_cycle_counter();
    for (int k = 0; k < scopes_per_batch; ++k) const auto scope = probe.scope(Phase::multiply);
    best = std::min(best, static_cast<double>(read_cycle_counter() - begin) / scopes_per_batch);
  }
  return best;
}

}  // namespace cg2d
