#pragma once

// Steps that passes over the planes of a slab make: the interface, and the table of its implementations.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/stencil/plane_figures.hpp"
#include "cg/stencil/plane_layout.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A rank's planes of the domain, and the limits of the passes over them.
struct MethodPlan {
  comm::IndexRange slab{};
  int block = 1;              ///< steps of the longest pass
  int planes_per_moment = 1;  ///< given and made at a time
};

/// Steps of something on a domain, several in each pass over it. Planes of the store have a layout of the method's own. Those functions that
/// take a RankGroup are collective.
class StencilMethod : public Interface {
 public:
  /// The layout of the planes that are stored, and exchanged.
  [[nodiscard]] virtual const PlaneLayout& layout() const = 0;
  /// No pass has more steps.
  [[nodiscard]] virtual int most_steps() const = 0;
  /// Likewise where a trial chooses.
  [[nodiscard]] virtual int most_tried_steps() const = 0;
  /// Planes that a pass moves on by where there is memory enough: a power of two.
  [[nodiscard]] virtual int most_planes_per_moment() const = 0;
  /// Planes of each neighbour that a pass with so many steps needs.
  [[nodiscard]] virtual int border_depth(int block) const = 0;
  /// Planes computed in a pass of so many steps by a rank with so many planes and neighbours, those near a neighbour's slab twice.
  [[nodiscard]] virtual std::int64_t computed_planes(std::int64_t plane_count, int neighbour_count,
                                                     int step_count) const = 0;
  /// Memory of make_ready().
  [[nodiscard]] virtual std::int64_t byte_count(int block, int planes_per_moment) const = 0;
  /// Writes the start values of plane z.
  virtual void fill_start(std::int64_t z, double* plane) const = 0;
  using TrialMoment =
      std::function<void(std::span<const double* const> given, std::span<double* const> made)>;
  /// As advance(), without a place: each call is one more moment in the middle of a long pass of `block` steps.
  [[nodiscard]] virtual TrialMoment trial_moment(int block, int planes_per_moment) const = 0;

  /// Memory for the passes. Throws std::bad_alloc.
  virtual void make_ready(const MethodPlan& plan) = 0;
  /// Plans the next pass, after so many steps: its steps, 0 when all is done. Throws RunError on every rank alike.
  virtual int begin_pass(int done_count, comm::RankGroup& group) = 0;
  /// The planes that the pass reads.
  [[nodiscard]] virtual comm::IndexRange given_planes() const = 0;
  /// So many planes beyond the slab: the same on all ranks, also where the domain ends.
  [[nodiscard]] virtual int pass_depth() const = 0;
  /// The values of `first` of the moments of the pass: from `begin` on in steps of planes_per_moment, as long as they are before `end`.
  [[nodiscard]] virtual comm::IndexRange moments() const = 0;
  /// given[k]: plane first + k, nullptr outside of given_planes(). made[k]: room for plane first + k - (steps of the pass), nullptr
  /// outside of the slab. Zeros around lines stay as they are. A plane may be given and made in the same place.
  virtual void advance(std::int64_t first, std::span<const double* const> given,
                       std::span<double* const> made) = 0;

  /// The figures of the slab's planes after the last pass. next: the next plane of the slab. beyond: plane z of a neighbour, one plane away.
  [[nodiscard]] virtual std::vector<PlaneFigures> check(
      const std::function<const double*()>& next,
      const std::function<const double*(std::int64_t z)>& beyond) const = 0;
  /// Judges by all planes together, in their order: sets largest_error, tolerance and, where it is one, `solve`.
  virtual void judge(std::span<const PlaneFigures> planes, StencilReport& report) const = 0;
};

/// A row of the table.
struct StencilMethodRow {
  std::string_view name;
  std::string_view subject;  ///< its steps are those of it
  int vector_count;          ///< in a plane of the store
  bool has_residual;         ///< it may end at one
  std::unique_ptr<StencilMethod> (*make)(const StencilOptions& options);
};

/// The first row is the default.
std::span<const StencilMethodRow> stencil_method_table();
/// The row with this name; it must be one of the table.
const StencilMethodRow& stencil_method(std::string_view name);

/// Rows of the table.
std::unique_ptr<StencilMethod> make_heat_method(const StencilOptions& options);
std::unique_ptr<StencilMethod> make_s_step_cg_method(const StencilOptions& options);

}  // namespace cg2d
