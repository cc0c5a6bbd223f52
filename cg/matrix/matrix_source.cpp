#include "cg/matrix/matrix_source.hpp"

#include <array>

namespace cg2d {

std::span<const SourceRow> source_table() {
  static const std::array table{npb_source()};
  return table;
}

}  // namespace cg2d
