#include "cg/timing/phase.hpp"

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

}  // namespace cg2d
