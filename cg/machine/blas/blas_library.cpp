#include "cg/machine/blas/blas_library.hpp"

// One branch for each kind of library (scripts/cg2dBlas.cmake).

#if defined(CG2D_BLAS_IS_OPENBLAS)
#include <cblas.h>
#elif defined(CG2D_BLAS_IS_BLIS)
// Declared here: blis.h defines macros of common names. Its integers are of 64 bits on the processors that cg2d runs on.
#include <cstdint>
extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" const char* bli_info_get_version_str();
#elif defined(CG2D_BLAS_IS_MKL)
#include <mkl_service.h>

#include <array>
#endif

namespace cg2d {

#if defined(CG2D_BLAS_IS_OPENBLAS)

void keep_blas_on_one_thread() { openblas_set_num_threads(1); }

std::string blas_version() { return openblas_get_config(); }

#elif defined(CG2D_BLAS_IS_BLIS)

void keep_blas_on_one_thread() { bli_thread_set_num_threads(1); }

std::string blas_version() { return std::string("BLIS ") + bli_info_get_version_str(); }

#elif defined(CG2D_BLAS_IS_MKL)

void keep_blas_on_one_thread() { mkl_set_num_threads(1); }

std::string blas_version() {
  std::array<char, 200> text{};
  mkl_get_version_string(text.data(), static_cast<int>(text.size()) - 1);
  return text.data();
}

#else  // the reference BLAS, and any other that has the functions of CBLAS and no threads to be told of

void keep_blas_on_one_thread() {}

std::string blas_version() { return "a CBLAS that does not tell its name (" CG2D_BLAS_LIBRARIES ")"; }

#endif

}  // namespace cg2d
