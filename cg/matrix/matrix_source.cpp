#include "cg/matrix/matrix_source.hpp"

#include <array>

namespace cg2d {

// Each row is defined in the file of its source.
SourceRow npb_source();

std::span<const SourceRow> source_table() {
  static const std::array table{npb_source()};
  return table;
}

const SourceRow& default_source() { return source_table().front(); }

}  // namespace cg2d
