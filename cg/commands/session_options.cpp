#include "cg/commands/session_options.hpp"

#include <utility>

#include "cg/commands/shared_options.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {
namespace {

/// A setting of kernels that the profile has, where it is not given.
void add_setting(OptionSet& options, const std::string& name, const std::string& help,
                 std::optional<int>& setting) {
  options.add({name, "N", help, "the profile's"}, setting);
}

void add_feature_option(OptionSet& options, const FeatureOption& row) {
  options.begin_group(std::string(row.group));
  const std::string name(row.name);
  const std::string help(row.help);
  if (row.value.empty()) return options.add_flag(name, help, [] {});
  options.add_texts({name, std::string(row.value), help, std::string(row.default_text), {.file = row.file}},
                    false, {});
}

void add_counter_options(OptionSet& options, SessionOptions& session) {
  options.begin_group("Counters and traces");
  add_event_options(options, session.counters, "PAPI_EVENTS of the environment, or none");
  options.add_flag("--papi-strict", "end with 69 if one of the events cannot be counted",
                   session.counters.strict);
  add_limits_option(options, session.measures_limits);
  options.add({"--trace",
               "FILE",
               "write a time line of every phase to FILE (Chrome-trace JSON); -: to standard output, instead "
               "of the report",
               "",
               {.file = FileUse::writes}},
              session.trace.path);
  add_trace_steps_option(options, session.trace.step_count, "--trace");
}

/// Throws InputError for settings of a kernel that are out of range, and for those that a kernel that is named has not.
void check_tuning(const kernels::Tuning& tuning, const Configuration& configuration) {
  require_not_negative("--cvl", tuning.critical_vector_length);
  require_not_negative("--prefetch", tuning.prefetch_distance);
  if (const auto width = tuning.block_width; width && !kernels::is_block_width(*width))
    throw InputError(fmt::format("--block-width {}: must be a power of two within 64 ... 65536", *width));
  // The critical vector length counts for every kernel: the report says how many rows are shorter.
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr) return;
  using Member = std::optional<int> kernels::Tuning::*;
  for (const auto& [option, member] :
       {std::pair<std::string_view, Member>("--prefetch", &kernels::Tuning::prefetch_distance),
        std::pair<std::string_view, Member>("--block-width", &kernels::Tuning::block_width)}) {
    if (!(tuning.*member) || kernel->defaults.*member) continue;
    throw InputError(fmt::format("{}: --kernel {} has no such setting; leave it out", option, kernel->name));
  }
}

}  // namespace

void add_grid_options(OptionSet& options, SessionOptions& session) {
  options.begin_group("Grid");
  add_grid_option(options, session,
                  "ranks as columns x rows, such as 2x4; auto tries the best few, rule measures nothing, "
                  "official is that of the official program");
  options.add({"--px", "N", "columns of the grid; the rows follow", "those of --grid"},
              session.open_grid.columns);
  for (const auto& axis : configuration_axes()) add_axis_option(options, axis.name, session.configuration);
  add_setting(options, "--cvl", "critical vector length of the csr kernels: shorter rows take a scalar loop",
              session.tuning.critical_vector_length);
  add_setting(options, "--prefetch", "how many entries ahead a kernel fetches the matrix",
              session.tuning.prefetch_distance);
  add_setting(options, "--block-width", "columns of a kernel's column blocks: a power of 2",
              session.tuning.block_width);
  add_profile_options(options, session.profile);
  add_keep_disturbed_option(options, session.profile);
  add_bind_option(options, session.bind);
}

void add_display_options(OptionSet& options, SessionOptions& session) {
  add_host_name_option(options, session.names_hosts);
  options.add_flag("--verbose", "print everything that is known about the result", session.detail.is_verbose);
  options.add_flag("--clocks", "phase table in reference clocks, with their spread over the ranks",
                   session.detail.shows_clocks);
  add_progress_options(options, session.progress);
}

void add_memory_group(OptionSet& options, SessionOptions& session) {
  options.begin_group("Memory");
  add_memory_limit_option(options, session.memory_limit_bytes);
}

void add_feature_options(OptionSet& options, SessionOptions& session, WorkKind kind) {
  for (const auto& feature : feature_table()) {
    if (feature.only_for && *feature.only_for != kind) continue;
    for (const auto& option : feature.options) add_feature_option(options, option);
  }
  add_counter_options(options, session);
}

void resolve_session(SessionOptions& session, const OptionSet& given) {
  session.transport_is_default = !given.has("--transport");
  check_configuration(session.configuration);
  if (session.open_grid.columns && (session.configuration.has_grid() || session.open_grid.is_official))
    throw InputError("--px and --grid both name a grid: give one of them");
  check_tuning(session.tuning, session.configuration);
  const auto& configuration = session.configuration;
  resolve_profile(session.profile, !configuration.has_transport() || configuration.cut == speed_cut);
  for (const auto& feature : feature_table()) {
    OptionTexts texts;
    for (const auto& option : feature.options) {
      if (given.has(option.name)) texts[std::string(option.name)] = given.text_of(option.name);
    }
    if (feature.read != nullptr) feature.read(texts, session.features);
  }
}

}  // namespace cg2d
