#include "cg/solver/configuration.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "cg/base/errors.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

/// The names of a table's rows, after automatic_choice.
template <typename Table>
std::vector<std::string> names_or_automatic(const Table& table) {
  auto names = names_of(table);
  names.emplace(names.begin(), automatic_choice);
  return names;
}

std::string printed(const std::string& text) { return text; }
std::string printed(int number) { return std::to_string(number); }
std::string printed(bool is_on) { return is_on ? "on" : "off"; }
std::string printed(comm::SumForm form) { return sum_form_name(form); }

void assign(std::string& value, const ConfigurationAxis& axis, std::string_view text) {
  if (axis.values.empty()) static_cast<void>(matrix_cut_from(text));  // a text that is no name is a cut
  value = text;
}

void assign(int& value, const ConfigurationAxis& axis, std::string_view text) {
  const auto [smallest, largest] = axis.limits;
  const auto number = number_from<int>(text);
  if (!number) throw InputError("{}: \"{}\" is not a whole number up to {}", axis.option, text, largest);
  require_within(std::string(axis.option), *number, largest, smallest);
  value = *number;
}

void assign(bool& value, const ConfigurationAxis& /*axis*/, std::string_view text) { value = text == "on"; }

void assign(comm::SumForm& value, const ConfigurationAxis& /*axis*/, std::string_view text) {
  value = *value_in(sum_form_table(), text);
}

std::string why_sum_is_refused(const Configuration& configuration) {
  const auto* const row = comm::find_transport(configuration.transport);
  // "auto", which takes what serves, has all.
  const auto known = row == nullptr ? comm::all_sum_forms : row->sum_forms;
  if (std::ranges::find(known, configuration.sum_form) != known.end()) return {};
  std::vector<std::string> valid;
  for (const auto form : known) valid.push_back(sum_form_name(form));
  return fmt::format("the transport {} has no such form; valid: {}", configuration.transport,
                     fmt::join(valid, ", "));
}

std::string why_reproducible_is_refused(const Configuration& configuration) {
  if (!configuration.is_reproducible) return {};
  if (!configuration.has_transport())
    return "a trial of transports compares usual sums; name one, such as --transport shared";
  if (!configuration.has_kernel()) return {};
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr || kernel->makes_reproducible) return {};
  const auto valid =
      names_where(kernels::kernel_table(), [](const auto& row) { return row.makes_reproducible; });
  return fmt::format("the kernel {} has no such form; valid: auto, {}", configuration.kernel,
                     fmt::join(valid, ", "));
}

/// Throws InputError with the reason of a refused configuration that has a value which none of the others
/// has: it was asked for, and would be left out silently.
std::vector<Configuration> without_refused(std::vector<Configuration> all) {
  const auto refused = std::stable_partition(
      all.begin(), all.end(), [](const auto& configuration) { return why_refused(configuration).empty(); });
  for (auto one = refused; one != all.end(); ++one) {
    for (const auto& axis : configuration_axes()) {
      const auto has_same = [&](const auto& other) { return axis.print(other) == axis.print(*one); };
      if (std::none_of(all.begin(), refused, has_same)) check_configuration(*one);
    }
  }
  all.erase(refused, all.end());
  return all;
}

}  // namespace

void ConfigurationAxis::parse(Configuration& configuration, std::string_view text) const {
  if (!values.empty()) require_known(std::string(option), std::string(text), values);
  std::visit([&](const auto value) { assign(configuration.*value, *this, text); }, member);
}

void ConfigurationAxis::parse_recorded(Configuration& configuration, std::string_view text) const {
  const auto* const name_or_cut = std::get_if<std::string Configuration::*>(&member);
  if (name_or_cut == nullptr) return parse(configuration, text);
  configuration.*(*name_or_cut) = text;
}

std::string ConfigurationAxis::print(const Configuration& configuration) const {
  return std::visit([&](const auto value) { return printed(configuration.*value); }, member);
}

std::string ConfigurationAxis::label(const Configuration& configuration) const {
  if (own_label != nullptr) return own_label(configuration);
  const auto text = print(configuration);
  return is_flag() ? std::string(text == "on" ? name : "") : text;
}

std::span<const ConfigurationAxis> configuration_axes() {
  static const std::array table{
      ConfigurationAxis{.name = "kernel",
                        .option = "--kernel",
                        .help = "matrix-vector product (cg2d run --list-kernels describes them)",
                        .member = &Configuration::kernel,
                        .values = names_or_automatic(kernels::kernel_table())},
      ConfigurationAxis{
          .name = "transport",
          .option = "--transport",
          .help = "how data moves between ranks (cg2d run --list-transports); auto measures them",
          .member = &Configuration::transport,
          .values = names_or_automatic(comm::transport_table()),
          .standing = "shared where all ranks share a node, else two-sided"},
      ConfigurationAxis{
          .name = "threads",
          .option = "--threads",
          .help = "threads of each rank",
          .member = &Configuration::thread_count,
          .limits = {1, most_threads},
          .own_label = [](const Configuration& one) { return format_count(one.thread_count, "thread"); }},
      ConfigurationAxis{.name = "sum_form",
                        .option = "--sum",
                        .help = "sum over a process row; whole-block as in the paper",
                        .member = &Configuration::sum_form,
                        .values = names_of(sum_form_table()),
                        .own_label =
                            [](const Configuration& one) {
                              return one.sum_form == Configuration{}.sum_form ? ""
                                                                              : sum_form_name(one.sum_form);
                            },
                        .why_refused = &why_sum_is_refused},
      ConfigurationAxis{
          .name = "overlap",
          .option = "--overlap",
          .help = "on: multiply the parts of the operand that have arrived while the rest is under way",
          .member = &Configuration::overlaps,
          .values = {"off", "on"}},
      ConfigurationAxis{
          .name = "cut",
          .option = "--cut",
          .help =
              "pieces of the matrix: equal numbers of rows (even), of nonzeros, shares of the nonzeros by "
              "measured speeds of the ranks, even ones of rows and columns in a random order (random: of a "
              "system only), or shares from a file, one for each rank; auto: even for the benchmark, "
              "nonzeros for a system",
          .member = &Configuration::cut,
          .value_form = "auto|even|nonzeros|speed|random:SEED|file:FILE",
          .own_label =
              [](const Configuration& one) {
                return one.cut == automatic_choice || one.cut == even_cut ? "" : "cut " + one.cut;
              }},
      ConfigurationAxis{.name = "reproducible",
                        .option = "--reproducible",
                        .help = "on: zeta and residuals bitwise identical on every grid, transport, kernel "
                                "and number of threads",
                        .member = &Configuration::is_reproducible,
                        .values = {"off", "on"},
                        .why_refused = &why_reproducible_is_refused},
      ConfigurationAxis{
          .name = "ranks_per_node",
          .option = "--ranks-per-node",
          .help = "pretend nodes of so many ranks, to see on one machine what shared and put do on several; "
                  "0: the real nodes",
          .is_crossed = false,
          .member = &Configuration::ranks_per_node,
          .limits = {0, std::numeric_limits<int>::max()},
          .own_label = [](const Configuration& one) {
            return one.ranks_per_node == 0 ? "" : format_count(one.ranks_per_node, "rank") + " per node";
          }}};
  return table;
}

const ConfigurationAxis& configuration_axis(std::string_view name) {
  return *std::ranges::find(configuration_axes(), name, &ConfigurationAxis::name);
}

void require_instruction_set() {
  const auto name = kernels::requested_instruction_set();
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const auto set : kernels::processor_instruction_sets()) names.emplace_back(kernels::name_of(set));
  require_known(kernels::instruction_set_variable, name, names);
}

std::string why_refused(const Configuration& configuration) {
  for (const auto& axis : configuration_axes()) {
    if (axis.why_refused == nullptr) continue;
    if (const auto reason = axis.why_refused(configuration); !reason.empty())
      return fmt::format("{} {}: {}", axis.option, axis.print(configuration), reason);
  }
  return {};
}

void check_configuration(const Configuration& configuration) {
  if (const auto reason = why_refused(configuration); !reason.empty()) throw InputError(reason);
}

std::string configuration_key(const Configuration& configuration) {
  std::string key = configuration.grid.name();
  for (const auto& axis : configuration_axes()) {
    if (const auto label = axis.label(configuration); !label.empty()) key += " " + label;
  }
  return key;
}

std::vector<Configuration> crossed(const Configuration& common, const AxisValues& values) {
  std::vector<Configuration> all{common};
  for (const auto& axis : configuration_axes()) {
    const auto texts = values.find(axis.name);
    if (texts == values.end() || texts->second.empty()) continue;
    std::vector<Configuration> longer;
    longer.reserve(all.size() * texts->second.size());
    for (const auto& shorter : all) {
      for (const auto& text : texts->second) axis.parse(longer.emplace_back(shorter), text);
    }
    all = std::move(longer);
  }
  return without_refused(std::move(all));
}

comm::CommunicatorOptions communicator_options(const Configuration& configuration, bool mirrored) {
  return {.sum_form = configuration.sum_form,
          .mirrored = mirrored,
          .ranks_per_node = configuration.ranks_per_node};
}

std::span<const NamedValue<comm::SumForm>> sum_form_table() {
  using Row = NamedValue<comm::SumForm>;
  static constexpr std::array table{Row{.name = "reduce-scatter", .value = comm::SumForm::reduce_scatter},
                                    Row{.name = "whole-block", .value = comm::SumForm::whole_block}};
  return table;
}

std::string sum_form_name(comm::SumForm form) { return std::string(name_in(sum_form_table(), form)); }

}  // namespace cg2d
