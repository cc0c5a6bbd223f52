// The reference BLAS, and any other that has the functions of CBLAS and no threads to be told of.

#include "cg/machine/blas/blas_library.hpp"

namespace cg2d {

void keep_blas_on_one_thread() {}

std::string blas_version() { return "a CBLAS that does not tell its name (" CG2D_BLAS_LIBRARIES ")"; }

}  // namespace cg2d
