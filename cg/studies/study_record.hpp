#pragma once

// The parts of results that several studies have.

#include "cg/base/json_record.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/report/session_record.hpp"

namespace cg2d {

/// The machine, as all ranks started see it: the part of environment_record() that no run changes.
const Record<SeenEnvironment>& machine_record();

template <typename Study>
Figure<Study> program_figure() {
  return {"program", defined("program"), [](const Study& /*study*/) { return program_json(); }};
}

/// The origin of a study's result.
template <typename Study>
Figure<Study> provenance_figure() {
  return {"provenance", or_null(defined("provenance")), [](const Study& study) {
            return study.provenance ? json_of(provenance_record(), *study.provenance) : Json(nullptr);
          }};
}

/// The definitions that the documents of studies name, beside the usual ones.
FigureType study_definitions();

}  // namespace cg2d
