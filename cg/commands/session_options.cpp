#include "cg/commands/session_options.hpp"

#include <cstdint>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/run/feature.hpp"

namespace cg2d {
namespace {

void add_feature_option(CLI::App& parser, const FeatureOption& row, OptionTexts& texts) {
  const std::string name(row.name);
  const std::string help(row.help);
  parser.option_defaults()->group(std::string(row.group));
  if (row.value.empty()) {
    parser.add_flag_function(
        name, [&texts, name](std::int64_t /*count*/) { texts[name].clear(); }, help);
    return;
  }
  auto* const option = parser
                           .add_option_function<std::string>(
                               name, [&texts, name](const std::string& text) { texts[name] = text; }, help)
                           ->type_name(std::string(row.value));
  if (row.file) option->check(file_name(*row.file));
  if (!row.default_text.empty()) option->default_str(std::string(row.default_text));
}

}  // namespace

void add_grid_options(CLI::App& parser, SessionArguments& arguments, SessionOptions& options) {
  auto& tuning = options.tuning;
  parser.option_defaults()->group("Grid");
  parser
      .add_option("--grid", arguments.grid,
                  "ranks as columns x rows, such as 2x4; auto tries the best few, rule measures "
                  "nothing, official is that of the official program")
      ->type_name(type_of_values({"auto", "rule", "official", "PXxPY"}));
  add_number_option(parser, "--px", options.open_grid.columns, "columns of the grid; the rows follow")
      ->default_str("those of --grid");
  add_axis_options(parser, arguments.axes);
  add_number_option(parser, "--cvl", tuning.critical_vector_length,
                    "critical vector length of the csr kernels: shorter rows take a scalar loop")
      ->default_str("the profile's");
  add_number_option(parser, "--prefetch", tuning.prefetch_distance,
                    "how many entries ahead a kernel fetches the matrix")
      ->default_str("the profile's");
  add_number_option(parser, "--block-width", tuning.block_width,
                    "columns of a kernel's column blocks: a power of 2")
      ->default_str("the profile's");
  add_profile_options(parser, options.profile, profile_is_used());
  add_keep_disturbed_option(parser, options.profile);
  add_bind_option(parser, arguments.bind);
}

void add_display_options(CLI::App& parser, SessionOptions& options) {
  add_host_name_option(parser, options.names_hosts);
  add_detail_options(parser, options.detail);
  add_progress_options(parser, options.progress);
}

void add_feature_options(CLI::App& parser, SessionArguments& arguments, SessionOptions& options) {
  for (const auto& feature : feature_table()) {
    for (const auto& option : feature.options) add_feature_option(parser, option, arguments.features);
  }
  add_counter_options(parser, {options.counters, options.trace, options.measures_limits});
}

void settle_session(const SessionArguments& arguments, SessionOptions& options) {
  options.configuration = configuration_from(arguments.axes);
  set_grid(options, arguments.grid);
  if (options.open_grid.columns && (options.configuration.has_grid() || options.open_grid.is_official))
    throw InputError("--px and --grid both name a grid: give one of them");
  options.bind = bind_mode_from(arguments.bind);
  check_tuning(options.tuning, options.configuration);
  settle_profile(options.profile, !options.configuration.has_transport());
  check_counter_options(options.counters, options.trace);
  for (const auto& feature : feature_table()) {
    if (feature.read != nullptr) feature.read(arguments.features, options.features);
  }
}

}  // namespace cg2d
