#pragma once

// The options of `cg2d stencil`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/progress.hpp"
#include "comm/domain_layout.hpp"

namespace cg2d {

/// The options of a user.
struct StencilOptions {
  comm::Extents shape{1, 1, 1};  ///< points along x, y and z
  std::string method = "heat";
  int step_count = 64;
  double tolerance =
      0.0;  ///< s-step CG ends when its residual has fallen to this, relative to b; 0: it makes all steps
  std::vector<std::string>
      folders{};               ///< rank r takes number r modulo their number; empty: the domain is in memory
  std::optional<int> block{};  ///< temporal block, steps; empty: chosen by a trial
  std::int64_t memory_limit_bytes = 0;  ///< memory of a node; 0: all that is free there
  std::string format = "text";
  std::string output{};  ///< empty: standard output
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// "512x512x256" -> points along x, y and z. Throws InputError.
comm::Extents shape_from(std::string_view text);
/// "512x512x256".
std::string shape_text(const comm::Extents& shape);
/// "auto" -> nothing, "16" -> 16. Throws InputError.
std::optional<int> block_from(std::string_view text);

}  // namespace cg2d
