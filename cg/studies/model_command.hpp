#pragma once

// `cg2d model`: predicted times of a described machine, and the calibration of this one. `cg2d tune`: from measurements to a table and a profile.

#include "cg/machine/machine_description.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {

/// The options that `cg2d model` and `cg2d simulate` share: problems and configurations on a described machine.
struct MachineStudyOptions {
  std::string machine;  ///< a name or a file
  std::vector<Problem> problems;
  NamedGrids grids;  ///< none: all of the rank counts
  Configuration
      configuration;  ///< without a grid; the kernel is one of the description, or automatic_choice, which means its default
  SlowRanks slow;
  std::string format = "text";
  std::string output;
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The options of `cg2d model`. Without a machine: the calibrated description of this one. The threads are used with calibrates.
struct ModelOptions : MachineStudyOptions {
  std::vector<int> rank_counts;  ///< empty: the ranks that run
  bool compares_paper = false;
  bool shows_template = false;  ///< writes the text of a machine that comes with cg2d
  bool calibrates = false;
  bool keeps_disturbed = false;    ///< with calibrates: saves what was measured beside other load
  int64_t memory_limit_bytes = 0;  ///< of a node, while it calibrates; 0: all that is free there

  /// Whether ranks or pieces differ on purpose.
  bool is_uneven() const { return !slow.empty() || configuration.cut != even_cut; }
};

/// The largest number of ranks that is modelled.
inline constexpr int most_modelled_ranks = 1 << 20;

/// Throws InputError if the description has no network of the transport.
void require_described(const MachineDescription& condition, const std::string& transport);

/// The document, for its schema.
void visit_model(Members& m);

/// Collective. Throws RunError on every rank alike.
ExitCode model(const ModelOptions& options, comm::RankGroup& group);

/// A number of the paper, and the model's.
struct ComparedCell {
  std::string column;
  double paper = 0.0;
  double model = 0.0;
  double error() const { return model / paper - 1.0; }
};

/// A number of processing units, or a phase.
struct ComparedRow {
  std::string name;
  std::vector<ComparedCell> cells{};
};

struct ComparisonErrors {
  double median = 0.0;            ///< with its sign; as middle_of() has it
  double median_magnitude = 0.0;  ///< as middle_of() has it
  double worst = 0.0;             ///< the largest magnitude, with its sign
  std::string worst_row;
  std::string worst_column;
};

struct ComparedTable {
  std::string name;  ///< "Table 6"
  std::string title;
  std::string unit;  ///< "s" or "clocks"
  std::string row_title;
  std::vector<ComparedRow> rows{};

  ComparisonErrors errors() const;
};

/// Tables 2 to 6. Throws InputError for a machine without the kernels "compiled" and
/// "hand-made", or without a clock.
std::vector<ComparedTable> compared_tables(const MachineDescription& machine);

/// The document of `cg2d model --paper --format json`.
struct PaperComparison {
  std::string machine;
  std::vector<ComparedTable> tables;
};
void describe(Members& m, PaperComparison& comparison);

// ---------------------------------------------------------------- cg2d tune

/// The options of `cg2d tune`.
struct TuneOptions {
  std::vector<Problem> problems;
  NamedGrids grids;                   ///< none: every grid of the ranks
  Configuration configuration;        ///< configuration of every case, without grid and kernel
  bool transport_is_default = false;  ///< nobody has named one: with_default_transport()
  BindMode bind = BindMode::automatic;
  int64_t memory_limit_bytes = 0;  ///< memory of a node; 0: all that is free there
  ProfileSource profile;           ///< where the result goes; unused: nowhere
  ProgressMode progress = ProgressMode::on_a_terminal;
  bool lists = false;  ///< measures nothing, prints the contents of the profile
  std::optional<std::string>
      removes;  ///< measures nothing, removes this processor or matrix from the profile
};

/// Measures, prints, and keeps the result in the profile, whose other contents stay; or lists or edits the
/// profile, which must be there. Collective; the same code on every rank. Throws RunError (on every rank alike; with code 75 for
/// measurements that were disturbed or make no sense), MpiError, std::bad_alloc.
ExitCode tune(const TuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
