#pragma once

// The configuration of a run: everything that can be chosen about it but the matrix. Plans, trials, reports,
// sweeps, comparisons and the model hold this type; no other type repeats one of its axes.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// The value of an axis that the program chooses.
inline constexpr std::string_view automatic_choice = "auto";

struct Configuration {
  comm::ProcessGrid grid{.columns = 0, .rows = 0};         ///< 0 x 0: still to be chosen
  std::string kernel{automatic_choice};                    ///< a row's name, or automatic_choice
  std::string transport{comm::default_transport().name};   ///< likewise
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;  ///< over a process row
  int thread_count = 1;                                    ///< of each rank
  bool overlaps = false;   ///< the product begins while the collection is under way
  int ranks_per_node = 0;  ///< pretended nodes of so many ranks; 0: the real ones

  [[nodiscard]] bool has_grid() const { return grid.columns > 0; }
  [[nodiscard]] bool has_kernel() const { return kernel != automatic_choice; }
  [[nodiscard]] bool has_transport() const { return transport != automatic_choice; }
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// How the values of an axis are written in JSON.
enum class AxisType { text, number, flag };

/// One axis. A new axis is a field, its row here, and the code that obeys it: options, sweeps, reports, keys
/// and comparisons follow the table.
struct ConfigurationAxis {
  std::string_view name;       ///< key in JSON
  std::string_view option;     ///< of the command line, "--sum"
  std::string_view help;       ///< for one value, in `cg2d run --help`
  std::string_view list_help;  ///< for a list, where sweeps cross it; empty: they do not
  AxisType type;
  /// Throws InputError: the option, what was given, and what would be valid.
  void (*parse)(Configuration& configuration, std::string_view text);
  /// The text that parse() takes.
  std::string (*print)(const Configuration& configuration);
  /// The value's part of a key or title, with its unit if it needs one; empty where it is not worth saying.
  std::string (*label)(const Configuration& configuration);
  /// Why this value does not go with the other axes' and what would; empty when it does.
  std::string (*why_refused)(const Configuration& configuration);

  [[nodiscard]] bool is_crossed() const { return !list_help.empty(); }
};

/// All axes but the grid, whose values depend on the number of ranks, in the order in which keys and JSON
/// name them.
std::span<const ConfigurationAxis> configuration_axes();
/// The axis of that name; it must be there.
const ConfigurationAxis& configuration_axis(std::string_view name);

/// Throws InputError with the reason of the first axis that refuses its value.
void check_configuration(const Configuration& configuration);

/// The unique text of a configuration: "2x4 auto two-sided 1 thread", and what is not usual behind it.
std::string configuration_key(const Configuration& configuration);

/// Every combination of values, the last axis fastest: values[k] are texts for the axis of the same place in
/// configuration_axes(); an empty list leaves that axis as it is in `common`. Throws InputError.
std::vector<Configuration> crossed(const Configuration& common,
                                   std::span<const std::vector<std::string>> values);

/// The form of the sum of runs that are not asked for another one.
inline constexpr comm::SumForm default_sum_form = comm::SumForm::reduce_scatter;

/// The communicator's part of a configuration. mirrored: for kernels with symmetric storage.
comm::CommunicatorOptions communicator_options(const Configuration& configuration, bool mirrored);

std::string sum_form_name(comm::SumForm form);
std::vector<std::string> sum_form_names();
/// Nothing for a name that no form has.
std::optional<comm::SumForm> find_sum_form(std::string_view name);

}  // namespace cg2d
