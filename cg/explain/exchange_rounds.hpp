#pragma once

// One operation of a product, replayed from its schedules without ranks: which messages travel together, and
// the pieces that every rank holds between them. No MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d {

/// The place of a rank, a member or a piece in a vector.
inline std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

/// A piece of a vector on one rank. Empty pieces are held nowhere.
struct HeldPiece {
  std::string_view vector;  ///< "p", "q", or "p.q": a scalar
  int number = 0;           ///< number of the piece in the layout
  int summed_ranks = 0;     ///< how many ranks' partial sums it adds up; 0: it is no sum
  int rank_count = 0;       ///< ranks in the whole sum; 0: it is no sum
  [[nodiscard]] bool is_partial() const { return summed_ranks < rank_count; }
  friend bool operator==(const HeldPiece&, const HeldPiece&) = default;
};
/// The pieces of one rank by growing number, and those of all ranks.
using RankPieces = std::vector<HeldPiece>;
using AllPieces = std::vector<RankPieces>;

/// One message. Messages without elements are never sent, and appear nowhere.
struct ExplainedMessage {
  int sender = 0;
  int receiver = 0;
  std::string_view vector;
  std::vector<int> pieces;  ///< numbers in the layout, in the order of the message
  std::int64_t byte_count = 0;
  bool is_added = false;  ///< the receiver adds it to its own partial sum, instead of putting it in place
};

/// The messages that can travel at the same time, by growing sender.
struct ExchangeRound {
  std::vector<ExplainedMessage> messages;
  AllPieces held_after;
};

/// A group of ranks that exchange the pieces of one vector by schedules.
struct GroupExchange {
  std::string_view vector;
  std::vector<int> ranks;                 ///< by member
  std::vector<comm::Schedule> schedules;  ///< by member
  comm::GroupPieces pieces;
  int first_piece = 0;  ///< the number of the group's first piece in the layout
  bool is_sum = false;  ///< every member begins with partial sums of all pieces, not with its own piece
};

/// The pieces that the members hold before the exchange are added to those of their ranks.
void add_first_pieces(const GroupExchange& exchange, AllPieces& held);

/// Replays the exchange of groups that have no rank in common, from what the ranks hold before. Each step of each member happens in
/// the earliest round in which both ends of its messages are there. A member that sends a partial sum to be added keeps none of it,
/// unless it receives the same pieces in the same step. Throws std::logic_error where a message has only one end, or a member waits
/// for itself. Cost: ranks * pieces of a group * rounds.
std::vector<ExchangeRound> replay(std::span<const GroupExchange> groups, const AllPieces& held_before);

}  // namespace cg2d
