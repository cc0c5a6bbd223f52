#pragma once

// The table of forms of CG. A new one is one file that defines its row, and its entry in cg_variant_table().

#include <memory>
#include <span>
#include <string_view>

#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {

struct CgVariantRow {
  std::string_view name;
  std::string_view description;
  int sums_per_step = 0;  ///< over all ranks
  std::unique_ptr<CgRecurrence> (*make)(const CgParts& parts) = nullptr;
};

/// All forms; the first one is the classic one, which the benchmark's rules prescribe.
std::span<const CgVariantRow> cg_variant_table();
/// The row of that name, or nullptr.
const CgVariantRow* find_cg_variant(std::string_view name);

}  // namespace cg2d
