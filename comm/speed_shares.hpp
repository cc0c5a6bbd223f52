#pragma once

// Shares of ranks that differ in speed, and their places on the grid. Pure arithmetic, no MPI.

#include <span>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d::comm {

/// Ranks of different speed on a grid. The work of the rank in row i and column j is r[i] c[j], the shares of its row block and of
/// its column block, both of which are sums of shares of pieces.
struct SpeedShares {
  ProcessGrid grid;            ///< with the order of the ranks
  std::vector<double> pieces;  ///< [piece]: share of the whole; their sum is 1
  double reachable =
      0.0;  ///< speed of all ranks together, which wait for the slowest; at most the sum of the speeds
};

/// The speed of all ranks together with these shares, where they stand on the grid: the smallest speed / (r c).
double speed_of_shares(std::span<const double> pieces, std::span<const double> speeds, ProcessGrid grid);

/// The best shares for ranks where they stand on the grid: [piece]. speeds: [rank], each finite and > 0, in any unit. A grid of one
/// row or one column reaches the sum of the speeds; others in general do not, since the blocks of a row share its border. Found by
/// descent from several starts, alike wherever the arithmetic is: 97 % of the optimum or more. Cost: for each start some 400 exponentials for
/// each place of process rows that differ in their ranks' speeds; rows of the same speeds cost as one.
std::vector<double> shares_in_place(std::span<const double> speeds, ProcessGrid grid);

/// The best places and shares, slow ranks sharing rows or columns, or standing where narrow ones cross, where these reach 2 % more than
/// shares_in_place(), else those: small differences are noise, and neighbours are neighbours for good reasons. speeds: as above. Equal speeds leave
/// every rank where it stands.
SpeedShares shares_on_grid(std::span<const double> speeds, ProcessGrid grid);

}  // namespace cg2d::comm
