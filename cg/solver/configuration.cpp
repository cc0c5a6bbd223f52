#include "cg/solver/configuration.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

/// An axis whose value is the name of a row, or automatic_choice. It lacks its help.
ConfigurationAxis row_axis(std::string_view name, std::string_view option, std::string Configuration::*value,
                           const std::vector<std::string>& rows) {
  auto values = rows;
  values.emplace(values.begin(), automatic_choice);
  auto known = rows;
  known.emplace_back(automatic_choice);
  const auto print = [value](const Configuration& one) { return one.*value; };
  return {.name = name,
          .option = option,
          .type = AxisType::text,
          .values = std::move(values),
          .parse =
              [=](Configuration& one, std::string_view text) {
                require_known(std::string(option), std::string(text), known);
                one.*value = text;
              },
          .print = print,
          .label = print,
          .title = [=](const Configuration& one) { return fmt::format("{} {}", name, one.*value); },
          .recorded = value};
}

ConfigurationAxis kernel_axis() {
  auto axis = row_axis("kernel", "--kernel", &Configuration::kernel, names_of(kernels::kernel_table()));
  axis.help = "matrix-vector product (cg2d run --list-kernels describes them)";
  axis.list_help = "matrix-vector products, such as auto,sell";
  return axis;
}

ConfigurationAxis transport_axis() {
  auto axis =
      row_axis("transport", "--transport", &Configuration::transport, names_of(comm::transport_table()));
  axis.help = "how data moves between ranks (cg2d run --list-transports); auto measures them";
  axis.list_help = "how data moves between ranks (cg2d run --list-transports)";
  axis.standing = "shared where all ranks share a node, else two-sided";
  return axis;
}

/// An axis whose value is a whole number within smallest ... largest. It lacks its help, label and title.
ConfigurationAxis number_axis(std::string_view name, std::string_view option, int Configuration::*value,
                              int smallest, int largest) {
  return {.name = name,
          .option = option,
          .type = AxisType::number,
          .parse =
              [=](Configuration& one, std::string_view text) {
                const auto number = number_from<int>(text);
                if (smallest == 0) require_not_negative(std::string(option), number);
                if (!number)
                  throw InputError(
                      fmt::format("{}: \"{}\" is not a whole number up to {}", option, text, largest));
                if (*number < smallest || *number > largest)
                  throw InputError(
                      fmt::format("{} {}: must be within {} ... {}", option, *number, smallest, largest));
                one.*value = *number;
              },
          .print = [value](const Configuration& one) { return std::to_string(one.*value); }};
}

ConfigurationAxis thread_axis() {
  auto axis = number_axis("threads", "--threads", &Configuration::thread_count, 1, most_threads);
  axis.help = "threads of each rank";
  axis.list_help = "threads of each rank, such as 1,2";
  axis.label = [](const Configuration& one) { return format_count(one.thread_count, "thread"); };
  axis.title = [](const Configuration& one) {
    return format_count(one.thread_count, "thread") + " per rank";
  };
  return axis;
}

std::string why_sum_is_refused(const Configuration& configuration) {
  const auto known = sum_forms_of(configuration.transport);
  if (std::ranges::find(known, configuration.sum_form) != known.end()) return {};
  std::vector<std::string> valid;
  for (const auto form : known) valid.push_back(sum_form_name(form));
  return fmt::format("the transport {} has no such form; valid: {}", configuration.transport,
                     fmt::join(valid, ", "));
}

ConfigurationAxis sum_axis() {
  return {.name = "sum_form",
          .option = "--sum",
          .help = "sum over a process row; whole-block as in the paper",
          .list_help = "sums over a process row; whole-block as in the paper",
          .type = AxisType::text,
          .values = names_of(sum_form_table()),
          .parse =
              [](Configuration& one, std::string_view text) {
                require_known("--sum", std::string(text), names_of(sum_form_table()));
                one.sum_form = *value_in(sum_form_table(), text);
              },
          .print = [](const Configuration& one) { return sum_form_name(one.sum_form); },
          .label =
              [](const Configuration& one) {
                return one.sum_form == default_sum_form ? std::string() : sum_form_name(one.sum_form);
              },
          .title = [](const Configuration& one) { return "sum " + sum_form_name(one.sum_form); },
          .why_refused = &why_sum_is_refused};
}

/// An axis that is off or on, as a field says. It lacks its help.
ConfigurationAxis flag_axis(std::string_view name, std::string_view option, bool Configuration::*flag) {
  const auto print = [flag](const Configuration& one) -> std::string { return one.*flag ? "on" : "off"; };
  return {.name = name,
          .option = option,
          .type = AxisType::flag,
          .values = {"off", "on"},
          .parse =
              [=](Configuration& one, std::string_view text) {
                require_known(std::string(option), std::string(text), {"off", "on"});
                one.*flag = text == "on";
              },
          .print = print,
          .label = [=](const Configuration& one) { return std::string(one.*flag ? name : ""); },
          .title = [=](const Configuration& one) { return fmt::format("{} {}", name, print(one)); }};
}

ConfigurationAxis overlap_axis() {
  auto axis = flag_axis("overlap", "--overlap", &Configuration::overlaps);
  axis.help = "on: multiply the parts of the operand that have arrived while the rest is under way";
  axis.list_help = "on: multiply what has arrived while the rest is under way; off,on compares";
  return axis;
}

std::string why_reproducible_is_refused(const Configuration& configuration) {
  if (!configuration.is_reproducible) return {};
  if (!configuration.has_transport())
    return "a trial of transports compares usual sums; name one, such as --transport shared";
  if (!configuration.has_kernel()) return {};
  const auto* const kernel = kernels::find_kernel(configuration.kernel);
  if (kernel == nullptr || kernel->make_reproducible != nullptr) return {};
  std::vector<std::string_view> valid;
  for (const auto& row : kernels::kernel_table()) {
    if (row.make_reproducible != nullptr) valid.push_back(row.name);
  }
  return fmt::format("the kernel {} has no such form; valid: auto, {}", configuration.kernel,
                     fmt::join(valid, ", "));
}

ConfigurationAxis reproducible_axis() {
  auto axis = flag_axis("reproducible", "--reproducible", &Configuration::is_reproducible);
  axis.help =
      "on: zeta and residuals bitwise identical on every grid, transport, kernel and number of threads";
  axis.list_help = "on: results bitwise identical on every grid; off,on compares";
  axis.why_refused = &why_reproducible_is_refused;
  return axis;
}

ConfigurationAxis cut_axis() {
  const auto title = [](const Configuration& one) { return "cut " + one.cut; };
  return {
      .name = "cut",
      .option = "--cut",
      .help =
          "pieces of the matrix: equal numbers of rows (even), of nonzeros, shares of the nonzeros by "
          "measured "
          "speeds of the ranks, even ones of rows and columns in a random order, or shares from a file, one "
          "for "
          "each rank; auto: even for the benchmark, nonzeros for a system",
      .list_help =
          "pieces of the matrix (cg2d run --help); auto: even for the benchmark, nonzeros for a system",
      .type = AxisType::text,
      .value_form = "auto|even|nonzeros|speed|random:SEED|file:FILE",
      .parse =
          [](Configuration& one, std::string_view text) {
            static_cast<void>(matrix_cut_from(text));
            one.cut = text;
          },
      .print = [](const Configuration& one) { return one.cut; },
      .label =
          [title](const Configuration& one) {
            return one.cut == automatic_choice || one.cut == even_cut ? std::string() : title(one);
          },
      .title = title,
      .recorded = &Configuration::cut};
}

ConfigurationAxis node_axis() {
  auto axis = number_axis("ranks_per_node", "--ranks-per-node", &Configuration::ranks_per_node, 0,
                          std::numeric_limits<int>::max());
  axis.help =
      "pretend nodes of so many ranks, to see on one machine what shared and put do on several; "
      "0: the real nodes";
  axis.label = [](const Configuration& one) {
    return one.ranks_per_node == 0 ? "" : format_count(one.ranks_per_node, "rank") + " per node";
  };
  axis.title = [](const Configuration& one) {
    return one.ranks_per_node == 0 ? "nodes as they are"
                                   : "nodes of " + format_count(one.ranks_per_node, "rank");
  };
  return axis;
}

}  // namespace

std::span<const ConfigurationAxis> configuration_axes() {
  static const std::array table{kernel_axis(),  transport_axis(), thread_axis(),       sum_axis(),
                                overlap_axis(), cut_axis(),       reproducible_axis(), node_axis()};
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

namespace {

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

std::span<const comm::SumForm> sum_forms_of(std::string_view transport) {
  const auto* const row = comm::find_transport(transport);
  return row == nullptr ? comm::all_sum_forms : row->sum_forms;
}

}  // namespace cg2d
