#pragma once

// One CG step on a grid of ranks, told from its schedules, which are replayed without ranks: the one description that all pictures show, and
// the command. No MPI but in the command.

#include "cg/base/errors.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/rank_group.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

// ---------------------------------------------------------------- the rounds of one operation

/// The place of a rank or a piece in a vector.
inline size_t index_of(int number) { return static_cast<size_t>(number); }

/// A piece of a vector on one rank. Empty pieces are held nowhere.
struct HeldPiece {
  std::string_view vector;  ///< "p", "q", or "p.q": a scalar
  int number = 0;           ///< number of the piece in the layout
  int summed_ranks = 0;     ///< how many ranks' partial sums it adds up; 0: it is no sum
  int rank_count = 0;       ///< ranks in the whole sum; 0: it is no sum
  bool is_partial() const { return summed_ranks < rank_count; }
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
  int64_t byte_count = 0;
  bool is_added = false;  ///< the receiver adds it to its own partial sum, instead of putting it in place
};

/// The messages that can travel at the same time, by growing sender.
struct ExchangeRound {
  std::vector<ExplainedMessage> messages;
  AllPieces held_after;
};

// ---------------------------------------------------------------- the CG step

/// One operation of a CG step.
struct ExplainedStep {
  std::string_view name;     ///< "collection", as --step takes it
  std::string_view purpose;  ///< one sentence
  /// Ranks that exchange among themselves, each with its name: "process column 0"; one without a name where
  /// all ranks do.
  struct Group {
    std::string name;
    std::vector<int> ranks;
  };
  std::vector<Group> groups;
  int times = 1;  ///< in one CG step
  AllPieces held_before;
  std::vector<ExchangeRound> rounds;  ///< none where nothing is sent
  AllPieces held_after;

  /// The ranks hold this "before", "after round 1" and so on, and "after".
  struct State {
    std::string name;
    const AllPieces* held;
  };
  std::vector<State> states() const;
  /// Messages and bytes that each rank sends, all times together.
  std::vector<comm::Traffic> sent_by_rank() const;
  /// Rounds of one CG step: all times together.
  int round_count() const { return times * static_cast<int>(rounds.size()); }
};

/// Messages and bytes of some steps, each as often as one CG step has it.
struct ExplainedTraffic {
  int round_count = 0;
  int busiest_rank = 0;  ///< the last of those that send most bytes, as in the plan
  comm::Traffic busiest;
  comm::Traffic all_ranks;
};
ExplainedTraffic traffic_of(std::span<const ExplainedStep> steps);

/// The cost of one CG step on one grid.
struct GridCost {
  comm::ProcessGrid grid;
  ExplainedTraffic traffic;
  bool is_choice_of_rule = false;  ///< cg2d run --grid rule takes it
};

struct Explanation {
  Problem problem;
  Configuration configuration;  ///< grid, form of the sum, kernel
  bool is_mirrored = false;     ///< the kernel stores half of the matrix
  comm::BlockLayout layout;
  std::vector<ExplainedStep> steps;
  std::vector<GridCost> grids;  ///< every grid of as many ranks; none where one step was requested
};

/// The largest number of ranks that is explained: pictures of more say nothing.
inline constexpr int most_explained_ranks = 256;

/// step: the name of a part of a CG step (step_parts), or "all". Throws InputError for a step that this kernel does not have.
/// Cost: ranks * pieces of a group * rounds, for every grid of the ranks.
Explanation explain_step(const Problem& problem, const Configuration& configuration, std::string_view step);

/// Two lines that say which grid, and which vectors in which form.
std::string title_of(const Explanation& explained);
std::string subtitle_of(const Explanation& explained);
/// "5. Dot, 2 times", and who sends how much in it.
std::string heading_of(const ExplainedStep& step, int number);
std::string sent_text(const ExplainedStep& step);
/// "p0-2 p5": runs of pieces that follow one another; a scalar has no numbers.
std::string pieces_text(std::string_view vector, std::span<const int> pieces);
/// "q0-1 (1 of 3)" where it is a partial sum.
std::string held_text(const RankPieces& held);

// The pictures of a description; each is one whole text.
std::string explanation_text(const Explanation& explained);
std::string explanation_svg(const Explanation& explained);
class Members;
void describe(Members& m, HeldPiece& piece);
void describe(Members& m, Explanation& explained);
/// The document, for its schema.
void visit_explanation(Members& m);

/// The options of `cg2d explain`.
struct ExplainOptions {
  Problem problem;
  Configuration configuration;  ///< with a grid, which need not be of the ranks that run
  std::string step = "all";
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

/// Rank 0 makes the picture. Collective. Throws RunError on every rank alike.
ExitCode explain(const ExplainOptions& options, comm::RankGroup& group);

}  // namespace cg2d
