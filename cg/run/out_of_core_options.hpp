#pragma once

// Where the matrix of a run is kept.

#include <string>
#include <vector>

namespace cg2d {

/// --out-of-core
struct OutOfCoreOptions {
  std::vector<std::string>
      folders{};                ///< rank r takes number r modulo their number; empty: the matrix is in memory
  bool chooses_kernel = false;  ///< none was asked for: the configuration names the one with the fewest bytes

  [[nodiscard]] bool is_used() const { return !folders.empty(); }
};
/// "DIR1,DIR2"; empty: in memory. Throws InputError.
OutOfCoreOptions out_of_core_options_from(const std::string& text);

}  // namespace cg2d
