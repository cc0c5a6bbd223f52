// BLIS. Its two functions are declared here: blis.h defines macros of common names.

#include <cstdint>

#include "cg/machine/blas/blas_library.hpp"

// BLIS counts in its own integers, which are of 64 bits on the processors that cg2d runs on.
extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" const char* bli_info_get_version_str();

namespace cg2d {

void keep_blas_on_one_thread() { bli_thread_set_num_threads(1); }

std::string blas_version() { return std::string("BLIS ") + bli_info_get_version_str(); }

}  // namespace cg2d
