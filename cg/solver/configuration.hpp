#pragma once

// The configuration of a run: all its choices except for the matrix. Plans, trials, reports,
// sweeps, comparisons and the model hold this type; no other type repeats one of its axes.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cg/base/values.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// The value of an axis that the program is to choose.
inline constexpr std::string_view automatic_choice = "auto";

struct Configuration {
  comm::ProcessGrid grid{.columns = 0, .rows = 0};         ///< 0 x 0: still to be chosen
  std::string kernel{automatic_choice};                    ///< a row's name, or automatic_choice
  std::string transport{comm::default_transport().name};   ///< a row's name, or automatic_choice
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;  ///< over a process row
  int thread_count = 1;                                    ///< threads of each rank
  bool overlaps = false;              ///< the product begins while the collection is under way
  std::string cut{automatic_choice};  ///< of the matrix, as matrix_cut_from() takes it
  bool is_reproducible = false;  ///< bitwise identical on any grid, transport, kernel and number of threads
  int ranks_per_node = 0;        ///< pretended nodes of so many ranks; 0: the real ones

  bool has_grid() const { return grid.columns > 0; }
  bool has_kernel() const { return kernel != automatic_choice; }
  bool has_transport() const { return transport != automatic_choice; }
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// One axis. A new axis is a member of Configuration, its row here, and the code that obeys it: options, sweeps, reports, keys
/// and comparisons follow the table.
struct ConfigurationAxis {
  std::string_view name;    ///< key in JSON, column in CSV
  std::string_view option;  ///< option of the command line, "--sum"
  std::string_view help;    ///< in `cg2d run --help`
  bool is_crossed = true;   ///< by sweeps, which take a list of values
  std::variant<std::string Configuration::*, int Configuration::*, bool Configuration::*,
               comm::SumForm Configuration::*>
      member;
  std::vector<std::string> values{};  ///< all that parse() takes; empty: others
  std::string_view value_form{"N"};   ///< of those others, for the help
  std::string_view standing{};   ///< in the help, where the usual value is not that of every Configuration
  std::pair<int, int> limits{};  ///< of a number
  /// label() where it is not as of other axes.
  std::string (*own_label)(const Configuration& configuration) = nullptr;
  /// Why this value does not go with those of the other axes, and which would; empty when it does. nullptr:
  /// it goes with all of them.
  std::string (*why_refused)(const Configuration& configuration) = nullptr;

  /// In JSON a number, or a flag; else a text.
  bool is_number() const { return std::holds_alternative<int Configuration::*>(member); }
  bool is_flag() const { return std::holds_alternative<bool Configuration::*>(member); }
  /// Throws InputError: the option, the text, and the texts that would be valid.
  void parse(Configuration& configuration, std::string_view text) const;
  /// Parses a value in a file of results, which another version of the program may have written: names
  /// of kernels and transports that this version does not have are kept.
  void parse_recorded(Configuration& configuration, std::string_view text) const;
  /// The text that parse() takes.
  std::string print(const Configuration& configuration) const;
  /// The value as a part of a key, with its unit; empty where it is the usual one and not worth saying.
  std::string label(const Configuration& configuration) const;
};

/// All axes but the grid, whose values depend on the number of ranks, in the order in which keys and JSON
/// name them.
std::span<const ConfigurationAxis> configuration_axes();
/// The axis of that name; it must be there.
const ConfigurationAxis& configuration_axis(std::string_view name);

/// Throws InputError where the variable CG2D_INSTRUCTION_SET names no instruction set of this processor.
void require_instruction_set();

/// The reason of the first axis that refuses its value, with its option; empty when none does. For trials,
/// which skip such configurations.
std::string why_refused(const Configuration& configuration);
/// Throws InputError with that reason.
void check_configuration(const Configuration& configuration);

/// The unique text of a configuration: "2x4 auto two-sided 1 thread", followed by the values that are not the
/// usual ones.
std::string configuration_key(const Configuration& configuration);

/// Texts for axes, by their names.
using AxisValues = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Every combination of values that goes together, the last axis of the table fastest. An axis without values
/// stays as it is in `common`. Throws InputError for a text that is no value, and for a value that goes with
/// none of the others.
std::vector<Configuration> crossed(const Configuration& common, const AxisValues& values);

/// The communicator's part of a configuration. mirrored: for kernels with symmetric storage.
comm::CommunicatorOptions communicator_options(const Configuration& configuration, bool mirrored);

std::span<const NamedValue<comm::SumForm>> sum_form_table();
std::string sum_form_name(comm::SumForm form);

}  // namespace cg2d
