#pragma once

// Steps that passes over the planes of a slab make: the interface, and the table of its implementations.

#include "cg/stencil/stencil_run.hpp"
#include "comm/endpoint.hpp"

namespace cg2d {

/// A pass, by the planes of this rank, which are numbered in its direction.
struct StencilPass {
  int step_count = 0;  ///< 0: all is done
  Sweep sweep{};
  comm::IndexRange read{};     ///< the slab before it
  comm::IndexRange written{};  ///< the slab after it
  /// The values of `first` of advance(): from `begin` on in steps of planes_at_once, as long as they are before `end`.
  comm::IndexRange wavefront_steps{};
};

/// The facts of a method that depend on its options alone.
struct MethodTraits {
  PlaneLayout layout;           ///< of the planes that are stored, and sent
  int most_steps = 1;           ///< of a pass
  int most_tried_steps = 1;     ///< of a pass where a trial chooses
  int most_planes_at_once = 1;  ///< that a pass moves on by where there is memory enough: a power of two
  int planes_per_step = 1;      ///< that each of several ranks needs for every step of a pass
};

/// Steps of something on a domain, several in each pass over it. Planes of the store have a layout of the method's own. Those functions that
/// take a RankGroup are collective.
class StencilMethod : public Interface {
 public:
  explicit StencilMethod(const MethodTraits& traits) : traits_(traits) {}

  const MethodTraits& traits() const { return traits_; }
  const PlaneLayout& layout() const { return traits_.layout; }
  /// Planes computed in a pass of so many steps by a rank with so many planes and neighbours, with those that a neighbour computes, too.
  virtual int64_t computed_planes(int64_t plane_count, int neighbour_count, int step_count) const = 0;
  /// Memory of make_ready().
  virtual int64_t byte_count(const FrontSize& size, int neighbour_count) const = 0;
  /// The planes that a rank with this share may have before or after passes of up to `block` steps: what its store has room for.
  virtual comm::IndexRange stored_planes(const comm::IndexRange& share, int /*block*/) const { return share; }
  /// Writes the start values of plane z.
  virtual void fill_start(int64_t z, double* plane) const = 0;
  using TrialAdvance =
      std::function<void(std::span<const double* const> given, std::span<double* const> made)>;
  /// advance() without a place: each call makes the same wavefront step in the middle of a long pass of size.most_steps.
  virtual TrialAdvance trial_advance(const FrontSize& size) const = 0;

  /// Memory for the passes of a rank with this share of the planes. Collective. Throws MpiError; RunError on every rank alike.
  virtual void make_ready(const comm::IndexRange& share, const FrontSize& size, comm::RankGroup& group) = 0;
  /// The planes that this rank has: at first, and after the passes so far.
  const comm::IndexRange& slab() const { return slab_; }
  /// Plans the next pass, after so many steps. Collective. Throws RunError on every rank alike.
  virtual StencilPass begin_pass(int done_count, comm::RankGroup& group) = 0;
  /// Moves planes between ranks that a pass, or check() after the last one, needs at its begin. Collective. Throws MpiError.
  virtual void exchange() = 0;
  /// first: of StencilPass::wavefront_steps.
  /// given[k]: plane first + k, nullptr where this rank does not read it. made[k]: room for plane first + k - (steps of the pass), nullptr
  /// where this rank does not write it. Zeros around lines stay as they are. A plane may be given and made in the same place. Throws MpiError.
  virtual void advance(int64_t first, std::span<const double* const> given,
                       std::span<double* const> made) = 0;
  /// The pass is over, or has failed on this rank: no other rank waits for it after this. Collective. Throws MpiError.
  virtual void end_pass() {}
  /// Seconds in messages and sums over all ranks so far.
  double communication_s() const { return communication_s_; }
  int64_t sent_bytes() const { return sent_.of(comm::Operation::halo).byte_count; }

  /// The figures of the slab's planes after the last pass, which the store reads.
  virtual std::vector<PlaneFigures> check(PlaneStore& store) const = 0;
  /// Judges by all planes together, in their order: sets largest_error, tolerance and, where it is one, `solve`.
  virtual void judge(std::span<const PlaneFigures> planes, StencilReport& report) const = 0;

 protected:
  /// Takes the time of messages, or of sums over all ranks.
  template <typename Action>
  void communicate(const Action& action) {
    const Stopwatch stopwatch;
    action();
    communication_s_ += stopwatch.seconds();
  }

  comm::IndexRange slab_{};
  comm::TrafficCounts sent_;

 private:
  MethodTraits traits_;
  double communication_s_ = 0.0;
};

/// Messages with a neighbour along z, each of some planes: the parts of two buffers, which must outlive them.
std::unique_ptr<comm::Messages> plane_messages(comm::Endpoint& endpoint, int partner, std::span<double> sent,
                                               std::span<double> received, int64_t size_of_one);

/// A row of the table.
struct StencilMethodRow {
  std::string_view name;
  std::string_view subject;  ///< subject of its steps, for the report
  int vector_count;          ///< in a plane of the store
  bool has_residual;         ///< it may end at one
  std::unique_ptr<StencilMethod> (*make)(const StencilOptions& options);
};

/// The first row is the default.
std::span<const StencilMethodRow> stencil_method_table();

/// Rows of the table.
std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options);
std::unique_ptr<StencilMethod> make_s_step_cg_method(const StencilOptions& options);

}  // namespace cg2d
