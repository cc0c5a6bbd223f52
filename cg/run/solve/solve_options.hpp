#pragma once

// The options of `cg2d solve`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cg/run/session_options.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "comm/domain_layout.hpp"

namespace cg2d {

/// A vector that is read or made.
struct VectorOption {
  enum class Kind { zeros, ones, random, file };
  Kind kind = Kind::zeros;
  uint64_t seed = 0;
  std::string text = "zeros";  ///< as the command line takes it: the name of a file
};
/// "ones", "zeros", "random:SEED" or the name of a file. Throws InputError, which names the option.
VectorOption vector_option_from(const std::string& option, const std::string& text);

/// "1x2x4". Throws InputError, which names --domain.
comm::DomainGrid domain_grid_from(std::string_view text);

/// The options of `cg2d solve`.
struct SystemOptions : SessionOptions {
  std::string matrix_path;                        ///< empty with operator_text
  std::string operator_text;                      ///< "laplace3d:64x64x64", "npb-factored:S"
  bool assembles = false;                         ///< the matrix of operator_text
  std::optional<double> symmetrize_tolerance{};   ///< --symmetrize, of a file
  bool mirrors = false;                           ///< MatrixFileOptions::mirrors
  std::optional<comm::DomainGrid> domain_grid{};  ///< of stencils without a matrix; empty: the best
  /// Ones are an eigenvector of many systems (graphs, elasticity), which CG solves in one iteration, whatever the others are.
  VectorOption right_hand_side{.kind = VectorOption::Kind::random, .seed = 1, .text = "random:1"};
  VectorOption initial_guess{};
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

  /// The file or the operator, as it was given.
  const std::string& matrix_text() const { return operator_text.empty() ? matrix_path : operator_text; }
  bool is_matrix_free() const { return !operator_text.empty() && !assembles; }
};

/// With --cut random:SEED, the seed.
std::optional<uint64_t> permutation_seed_of(const SystemOptions& options);

}  // namespace cg2d
