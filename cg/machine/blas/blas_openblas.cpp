// OpenBLAS.

#include <cblas.h>

#include "cg/machine/blas/blas_library.hpp"

namespace cg2d {

void keep_blas_on_one_thread() { openblas_set_num_threads(1); }

std::string blas_version() { return openblas_get_config(); }

}  // namespace cg2d
