#pragma once

// The BLAS library that the program is linked with. Its functions are called by CBLAS, which all of them have; this is what differs
// between them.

#include <string>

namespace cg2d {

/// Keeps the BLAS on one thread per rank: the ranks and our own threads are the parallelism. A serial library, which the build
/// prefers, does so in any case; for one with threads this must be called before the first operation. (Those of OpenBLAS exist
/// by then and stay idle: it starts them when it is loaded.)
void keep_blas_on_one_thread();

/// Name and version, as far as the library tells them.
std::string blas_version();

}  // namespace cg2d
