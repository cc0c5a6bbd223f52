#include "cg/timing/phase_timer.hpp"

#include <algorithm>
#include <limits>

namespace cg2d {

double PhaseTimer::measure_clocks_per_scope() const {
  constexpr int batch_count = 8;
  constexpr int scopes_per_batch = 200;
  if (communicator_ == nullptr) return 0.0;
  PhaseTimer probe(true, *communicator_);
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const std::uint64_t begin = read_cycle_counter();
    for (int k = 0; k < scopes_per_batch; ++k) const auto scope = probe.scope(Phase::multiply);
    best = std::min(best, static_cast<double>(read_cycle_counter() - begin) / scopes_per_batch);
  }
  return best;
}

}  // namespace cg2d
