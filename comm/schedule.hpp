#pragma once

// Butterflies for groups of any size, as data: which pieces each member sends and receives in each step. No
// MPI.

#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d::comm {

/// `count` consecutive pieces of a group from `first` on; the first piece of the group follows the last one.
struct PieceRun {
  int first = 0;
  int count = 0;
  friend bool operator==(const PieceRun&, const PieceRun&) = default;
};

/// Whether received pieces are put in their place or added to it.
enum class Combine { place, add };

/// One step of one member.
///
/// 1. A partner of `no_partner`: nothing is sent (received) in this step.
/// 2. Everything sent is read before anything received in the same step is combined.
struct ScheduleStep {
  static constexpr int no_partner = -1;

  int send_to = no_partner;
  PieceRun sent{};
  int receive_from = no_partner;
  PieceRun received{};
  Combine combine = Combine::place;
};

/// The steps of one member of a group, in order.
struct Schedule {
  std::vector<ScheduleStep> steps;
};

/// All-gather, the paper's collection: every member starts with its own piece and ends with all of them.
/// Recursive doubling for powers of two, the dissemination scheme of Bruck et al. (1997) for other sizes;
/// ceil(log2) steps for every size, and every piece is received once.
Schedule all_gather_schedule(int group_size, int member);

/// Reduce-scatter: every member starts with a partial sum of all pieces and ends with the whole sum of its
/// own piece. It is the all-gather backwards: ceil(log2) steps, and every piece is sent once. Each piece is
/// summed in a fixed order.
Schedule reduce_scatter_schedule(int group_size, int member);

/// All-reduce, the paper's vector summation: every member starts with a partial sum of all pieces and ends
/// with the whole sum of all pieces, the same bits on every member (each step adds the same two numbers on
/// both sides, and a + b = b + a in IEEE arithmetic). Recursive doubling; when the size is no power of two,
/// the members beyond the largest one fold into a partner first and get the result last: floor(log2) + 2
/// steps.
Schedule all_reduce_schedule(int group_size, int member);
/// The sum of one number of each member, at least one, added in the order in which all_reduce_schedule() makes member 0's: with the
/// same bits. The numbers are overwritten.
double sum_as_all_reduce(std::span<double> numbers);

/// Messages and bytes that one rank sends.
struct Traffic {
  int64_t message_count = 0;
  int64_t byte_count = 0;

  Traffic& operator+=(const Traffic& other) {
    message_count += other.message_count;
    byte_count += other.byte_count;
    return *this;
  }
  friend Traffic operator+(Traffic left, const Traffic& right) { return left += right; }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// The pieces of a group as ranges of elements inside the block that they form together.
class GroupPieces {
 public:
  /// The pieces first_piece ... first_piece + group_size - 1 of the layout; offsets count from the first
  /// one's begin.
  GroupPieces(const BlockLayout& layout, int first_piece, int group_size);
  /// The pieces of a sum of that many numbers over a group: the first member's piece is all of them.
  static GroupPieces of_scalars(int group_size, int64_t count);

  int group_size() const { return static_cast<int>(starts_.size()) - 1; }
  int64_t size() const { return starts_.back(); }
  IndexRange piece(int member) const;
  /// The elements of a run, in its order: none, one or two ranges, none of them empty.
  std::vector<IndexRange> ranges(const PieceRun& run) const;
  int64_t element_count(const PieceRun& run) const;

 private:
  std::vector<int64_t> starts_;
};

/// The two forms of a sum over a process row: the whole block on every rank, as in the paper, or on each rank
/// only the piece that it keeps.
enum class SumForm { whole_block, reduce_scatter };

/// The pieces of the row (column) block of `rank`, one for each rank of its process row (column).
GroupPieces block_pieces(const BlockLayout& layout, Line line, int rank);
/// The collection of column blocks, or, mirrored, of row blocks; and the summation over process rows, or, mirrored, over process columns.
Schedule collection_schedule(const BlockLayout& layout, int rank, Line over = Line::process_column);
Schedule summation_schedule(const BlockLayout& layout, int rank, SumForm form, Line over = Line::process_row);

/// The parts in which a collection completes the column block of `rank`, as ranges of offsets within it: part
/// 0 is the rank's own piece, part k the pieces that step k - 1 of its schedule brings. Each has none, one or
/// two ranges, none of them empty. All transports go by the same parts, so a computation part by part has the
/// same bits with each of them.
std::vector<std::vector<IndexRange>> collection_parts(const BlockLayout& layout, int rank);

/// Messages and bytes that `rank` sends in one collection, summation, shuffle, and sum of `value_count`
/// numbers over all ranks. A message without elements is never sent and not counted.
Traffic collection_traffic(const BlockLayout& layout, int rank, Line over = Line::process_column);
Traffic summation_traffic(const BlockLayout& layout, int rank, SumForm form, Line over = Line::process_row);
Traffic shuffle_traffic(const BlockLayout& layout, int rank);
Traffic mirrored_shuffle_traffic(const BlockLayout& layout, int rank);
Traffic dot_traffic(int rank_count, int rank, int value_count);

}  // namespace cg2d::comm
