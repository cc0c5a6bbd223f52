#pragma once

// The words of `cg2d tune` on the command line.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/tune_options.hpp"

namespace cg2d {

/// What the options said, as far as it is not in TuneOptions as it was said.
struct TuneWords {
  std::vector<std::string> class_letters;
  std::vector<std::string> grids;
  bool no_profile = false;
  TuneOptions options;
};

void add_tune_options(CLI::App& tune, TuneWords& words);
/// Throws InputError.
TuneOptions tune_options_from(const TuneWords& words);

}  // namespace cg2d
