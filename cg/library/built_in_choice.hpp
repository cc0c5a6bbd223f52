#pragma once

// Grid and kernel by built-in rules, from counts alone: where nothing is measured, and no profile knows better.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The kernel that a plan counts with: the one named, or the default one where it is still to be chosen.
const kernels::KernelRow& planned_kernel(const Configuration& configuration);

/// Messages and bytes that one rank sends in one CG step: one product, two dot products.
struct StepTraffic {
  comm::Traffic collection;
  comm::Traffic summation;
  comm::Traffic shuffle;
  comm::Traffic dot;
  comm::Traffic total() const { return collection + summation + shuffle + dot; }
};

/// mirrored: for symmetric storage.
StepTraffic plan_traffic(const comm::BlockLayout& layout, int rank, comm::SumForm form, bool mirrored);

/// The grid for "auto": the factorization whose busiest rank sends least in one CG step, a
/// message counted as start_up_bytes of data; the smallest Px of equals.
comm::ProcessGrid choose_grid(const MatrixFacts& matrix, const Configuration& configuration, int rank_count);
inline constexpr int64_t start_up_bytes = 4096;
/// The first `most` factorizations by the same rule, the best first. product_s: seconds of a product, where they depend on the grid; bytes
/// are taken to move at rule_bytes_per_s.
std::vector<comm::ProcessGrid> shortlist_by_rule(
    const MatrixFacts& matrix, const Configuration& configuration, int rank_count, size_t most,
    const std::function<double(const comm::ProcessGrid&)>& product_s = {});
inline constexpr double rule_bytes_per_s = 1e10;  // so start_up_bytes take 0.4 us, as between ranks of a node

double nonzeros_per_rank(const MatrixFacts& matrix, const comm::ProcessGrid& grid);
/// The meaning of "auto" without a profile: symmetric storage where a rank has 0.8 million nonzeros or more
/// and a core of its own, else the default kernel on whole blocks.
const kernels::KernelRow& built_in_kernel(const MatrixFacts& matrix, const comm::ProcessGrid& grid,
                                          bool ranks_oversubscribed);

}  // namespace cg2d
