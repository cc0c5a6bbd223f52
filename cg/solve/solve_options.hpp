#pragma once

// The options of `cg2d solve`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cg/base/progress.hpp"
#include "cg/checkpoint/checkpoint_interval.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/run/run_options.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/watch/stall_watch.hpp"
#include "comm/domain_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The cut of the matrix into pieces.
enum class MatrixCut { nonzeros, even, random };

/// A vector that is read or made.
struct VectorOption {
  enum class Kind { zeros, ones, random, file };
  Kind kind = Kind::zeros;
  std::uint64_t seed = 0;
  std::string path{};
};
/// "ones", "zeros", "random:SEED" or the name of a file. Throws InputError, which names the option.
VectorOption vector_option_from(const std::string& option, const std::string& text);

/// "1x2x4". Throws InputError, which names --domain.
comm::DomainGrid domain_grid_from(std::string_view text);

struct SystemOptions {
  TextDetail detail{};
  std::string matrix_path;                        ///< empty with operator_text
  std::string operator_text;                      ///< "laplace3d:64x64x64", "npb-factored:S"
  bool assembles = false;                         ///< the matrix of operator_text
  std::optional<double> symmetrize_tolerance{};   ///< --symmetrize, of a file
  std::optional<comm::DomainGrid> domain_grid{};  ///< of stencils without a matrix; empty: the best
  MatrixCut cut = MatrixCut::nonzeros;
  std::uint64_t permutation_seed = 0;  ///< with MatrixCut::random
  VectorOption right_hand_side{.kind = VectorOption::Kind::ones};
  VectorOption first_guess{};
  std::optional<int> right_hand_side_count{};  ///< empty: the columns of a file, else 1
  double relative_tolerance = 1e-8;            ///< of || b ||
  double absolute_tolerance = 0.0;             ///< the larger of both counts
  int most_iterations = 10'000;
  /// For measurements: all of most_iterations are done, and a system that is solved earlier is refused.
  bool measures_iterations = false;
  std::string preconditioner{preconditioner_table().front().name};
  std::string variant{cg_variant_table().front().name};  ///< the form of CG
  std::string solution_path;                             ///< empty: not written
  bool monitors = false;                                 ///< a line on stderr per iteration

  Configuration configuration;  ///< as asked for: grid and kernel may be open
  OpenGridOptions open_grid;
  kernels::Tuning tuning;
  ProfileSource profile;
  BindMode bind = BindMode::automatic;
  std::int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  OutOfCoreOptions out_of_core{};
  std::string format = "text";
  std::string output;  ///< of the report; empty: standard output
  CounterOptions counters;
  TraceOptions trace;
  CheckpointOptions checkpoint;
  GuardOptions guard;            ///< --guard, --inject
  bool measures_limits = false;  ///< --roofline
  StallOptions stall{};          ///< --stall-limit
  bool names_hosts = false;
  ProgressMode progress = ProgressMode::on_a_terminal;

  /// The file or the operator, as it was given.
  [[nodiscard]] const std::string& matrix_text() const {
    return operator_text.empty() ? matrix_path : operator_text;
  }
  [[nodiscard]] bool is_matrix_free() const { return !operator_text.empty() && !assembles; }
  [[nodiscard]] bool leaves_grid_open() const {
    return !configuration.has_grid() && !open_grid.name_a_grid();
  }
};

/// Sets the cut of a matrix by its text: "nonzeros", "even" or "random:SEED". Throws InputError, which names --cut.
void set_cut(SystemOptions& options, const std::string& text);

}  // namespace cg2d
