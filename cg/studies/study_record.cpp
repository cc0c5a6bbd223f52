#include "cg/studies/study_record.hpp"

#include "cg/machine/environment.hpp"

namespace cg2d {

const Record<SeenEnvironment>& machine_record() {
  static const auto record =
      part_of(environment_record(), {"mpi", "blas", "compiler", "flags", "build_type", "nodes", "binding"});
  return record;
}

FigureType study_definitions() {
  return {{"node", schema_of(node_record())},
          {"provenance", schema_of(provenance_record())},
          {"program",
           {{"type", "object"},
            {"additionalProperties", false},
            {"required", {"name", "version"}},
            {"properties", {{"name", {{"const", "cg2d"}}}, {"version", name_type()}}}}},
          {"certainty",
           {{"description",
             "alone: nothing to compare with; too-few-rounds: no times could decide; not-distinguishable: "
             "enough rounds, whose ratios do not separate them."},
            {"enum", {"alone", "decided", "too-few-rounds", "not-distinguishable"}}}}};
}

}  // namespace cg2d
