// Intel's MKL.

#include <mkl_service.h>

#include <array>

#include "cg/machine/blas/blas_library.hpp"

namespace cg2d {

void keep_blas_on_one_thread() { mkl_set_num_threads(1); }

std::string blas_version() {
  std::array<char, 200> text{};
  mkl_get_version_string(text.data(), static_cast<int>(text.size()) - 1);
  return text.data();
}

}  // namespace cg2d
