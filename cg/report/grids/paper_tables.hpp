#pragma once

// Tables 2 to 6 of the paper in its own form, with the figures of a sweep: K. Itakura, M. Matsubara, T. Boku, H. Nakamura,
// K. Nakazawa, "Performance Evaluation of NPB Kernel CG on CP-PACS", Transactions of the Information Processing Society
// of Japan 39(6), 1998. Pure.

#include <string>
#include <vector>

#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// For each problem with its choices but the kernel: Table 2 (seconds by PU and Px) with the first kernel of the sweep,
/// Tables 3 and 4 (clocks of an iteration, and of a matrix-vector product) for the greatest number of ranks, and, where
/// the sweep has another kernel, Tables 5 and 6, as the paper's second loop has them. Each caption says what the
/// paper's table is. Seconds are medians, clocks those of the run with the median time, means over the ranks.
/// Systems have none: empty where there is no benchmark.
std::string paper_tables(const std::vector<GridVerdict>& rows);

}  // namespace cg2d
