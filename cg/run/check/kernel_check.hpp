#pragma once

// Products of a kernel against those of the plainest one.

#include <cstdint>
#include <string>
#include <vector>

#include "cg/run/check/check.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// A symmetric block, an operand, and the product by the reference kernel for whole storage.
struct KnownProduct {
  kernels::CsrBlock block;
  std::vector<double> operand;
  std::vector<double> product;
  /// By how much two products may differ in each row, however their terms are added: (terms + 2) eps sum |a| |p|,
  /// half of it for each (Higham, Accuracy and Stability, section 3.1), with a last addition to the result.
  std::vector<double> rounding;
};
/// Blocks of awkward shapes: one row, dense, rows of 0 to 60 entries with one dense row, and several column blocks.
std::vector<KnownProduct> make_known_products();

/// The largest difference between the products of a kernel and the known ones, in parts of the rounding; NaN where
/// one is. Half storage multiplies the half of the block, and both results together are the product; kernels for
/// whole blocks also multiply the first third of the rows. Local. Throws what the kernel throws.
double kernel_error(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                    const std::vector<KnownProduct>& known);

/// The error of a kernel on every rank; at most 1 is allowed. Unavailable where no rank can make it. Collective.
CheckResult check_kernel(const kernels::KernelRow& row, const kernels::KernelOptions& options,
                         const std::vector<KnownProduct>& known, comm::RankGroup& group);

}  // namespace cg2d
