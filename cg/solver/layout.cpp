#include "cg/solver/layout.hpp"

namespace cg2d {

comm::BlockLayout make_layout(const MatrixFacts& matrix, const Configuration& configuration) {
  return equal_pieces(matrix.key.order, configuration.grid);
}

comm::BlockLayout equal_pieces(std::int64_t order, const comm::ProcessGrid& grid) {
  return comm::BlockLayout::even(order, grid);
}

}  // namespace cg2d
