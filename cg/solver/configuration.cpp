#include "cg/solver/configuration.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {
namespace {

/// A whole number within smallest ... largest. Throws InputError that names the option.
int whole_number(std::string_view option, std::string_view text, int smallest, int largest) {
  const auto value = number_from<int>(text);
  if (!value)
    throw InputError(fmt::format("{}: \"{}\" is not a whole number up to {}", option, text, largest));
  if (*value < smallest || *value > largest)
    throw InputError(fmt::format("{} {}: must be within {} ... {}", option, *value, smallest, largest));
  return *value;
}

/// Throws InputError when the text is neither the name of a row nor automatic_choice.
template <typename Table>
void require_row_or_automatic(std::string_view option, std::string_view text, const Table& table) {
  auto names = names_of(table);
  names.emplace_back(automatic_choice);
  require_known(std::string(option), std::string(text), names);
}

constexpr std::string_view kernel_option = "--kernel";
constexpr std::string_view transport_option = "--transport";
constexpr std::string_view sum_option = "--sum";
constexpr std::string_view threads_option = "--threads";
constexpr std::string_view overlap_option = "--overlap";
constexpr std::string_view reproducible_option = "--reproducible";
constexpr std::string_view node_option = "--ranks-per-node";

template <auto Table>
std::vector<std::string> names_or_automatic() {
  auto names = names_of(Table());
  names.emplace(names.begin(), automatic_choice);
  return names;
}

/// An axis whose value is the name of a row, or automatic_choice. It lacks its help and parse(), which knows
/// the table.
template <std::string Configuration::*Name>
ConfigurationAxis row_axis(std::string_view name, std::string_view option) {
  static const std::string title = std::string(name) + " ";
  return {.name = name,
          .option = option,
          .type = AxisType::text,
          .parse_recorded = [](Configuration& configuration,
                               std::string_view text) { configuration.*Name = text; },
          .print = [](const Configuration& configuration) { return configuration.*Name; },
          .label = [](const Configuration& configuration) { return configuration.*Name; },
          .title = [](const Configuration& configuration) { return title + configuration.*Name; }};
}

ConfigurationAxis kernel_axis() {
  auto axis = row_axis<&Configuration::kernel>("kernel", kernel_option);
  axis.values = &names_or_automatic<kernels::kernel_table>;
  axis.help = "matrix-vector product (cg2d run --list-kernels describes them)";
  axis.list_help = "matrix-vector products, such as auto,sell";
  axis.parse = [](Configuration& configuration, std::string_view text) {
    require_row_or_automatic(kernel_option, text, kernels::kernel_table());
    configuration.kernel = text;
  };
  return axis;
}

ConfigurationAxis transport_axis() {
  auto axis = row_axis<&Configuration::transport>("transport", transport_option);
  axis.values = &names_or_automatic<comm::transport_table>;
  axis.help = "how data moves between ranks (cg2d run --list-transports); auto measures them";
  axis.list_help = "how data moves between ranks (cg2d run --list-transports)";
  axis.standing = "shared where all ranks share a node, else two-sided";
  axis.parse = [](Configuration& configuration, std::string_view text) {
    require_row_or_automatic(transport_option, text, comm::transport_table());
    configuration.transport = text;
  };
  return axis;
}

void parse_threads(Configuration& configuration, std::string_view text) {
  configuration.thread_count = whole_number(threads_option, text, 1, most_threads);
}

ConfigurationAxis thread_axis() {
  return {
      .name = "threads",
      .option = threads_option,
      .help = "threads of each rank",
      .list_help = "threads of each rank, such as 1,2",
      .type = AxisType::number,
      .parse = &parse_threads,
      .parse_recorded = &parse_threads,
      .print =
          [](const Configuration& configuration) { return fmt::format("{}", configuration.thread_count); },
      .label =
          [](const Configuration& configuration) {
            return format_count(configuration.thread_count, "thread");
          },
      .title =
          [](const Configuration& configuration) {
            return format_count(configuration.thread_count, "thread") + " per rank";
          }};
}

void parse_sum_form(Configuration& configuration, std::string_view text) {
  require_known(std::string(sum_option), std::string(text), names_of(sum_form_table()));
  configuration.sum_form = *value_in(sum_form_table(), text);
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
  return {
      .name = "sum_form",
      .option = sum_option,
      .help = "sum over a process row; whole-block as in the paper",
      .list_help = "sums over a process row; whole-block as in the paper",
      .type = AxisType::text,
      .values = [] { return names_of(sum_form_table()); },
      .parse = &parse_sum_form,
      .parse_recorded = &parse_sum_form,
      .print = [](const Configuration& configuration) { return sum_form_name(configuration.sum_form); },
      .label =
          [](const Configuration& configuration) {
            const bool is_usual = configuration.sum_form == default_sum_form;
            return is_usual ? std::string() : sum_form_name(configuration.sum_form);
          },
      .title =
          [](const Configuration& configuration) { return "sum " + sum_form_name(configuration.sum_form); },
      .why_refused = &why_sum_is_refused};
}

/// An axis that is off or on, as a field says. It lacks its help.
template <bool Configuration::*Flag>
ConfigurationAxis flag_axis(std::string_view name, std::string_view option) {
  static const std::string option_text(option);
  static const std::string name_text(name);
  const auto parse = [](Configuration& configuration, std::string_view text) {
    require_known(option_text, std::string(text), {"off", "on"});
    configuration.*Flag = text == "on";
  };
  return {.name = name,
          .option = option,
          .type = AxisType::flag,
          .values =
              [] {
                return std::vector<std::string>{"off", "on"};
              },
          .parse = parse,
          .parse_recorded = parse,
          .print = [](const Configuration& configuration) -> std::string {
            return configuration.*Flag ? "on" : "off";
          },
          .label = [](const Configuration& configuration) -> std::string {
            return configuration.*Flag ? name_text : std::string();
          },
          .title =
              [](const Configuration& configuration) {
                return name_text + (configuration.*Flag ? " on" : " off");
              }};
}

ConfigurationAxis overlap_axis() {
  auto axis = flag_axis<&Configuration::overlaps>("overlap", overlap_option);
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
  auto axis = flag_axis<&Configuration::is_reproducible>("reproducible", reproducible_option);
  axis.help =
      "on: zeta and residuals bitwise identical on every grid, transport, kernel and number of threads";
  axis.list_help = "on: results bitwise identical on every grid; off,on compares";
  axis.why_refused = &why_reproducible_is_refused;
  return axis;
}

void parse_cut(Configuration& configuration, std::string_view text) {
  static_cast<void>(matrix_cut_from(text));
  configuration.cut = text;
}

ConfigurationAxis cut_axis() {
  return {
      .name = "cut",
      .option = cut_option,
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
      .parse = &parse_cut,
      .parse_recorded = [](Configuration& configuration, std::string_view text) { configuration.cut = text; },
      .print = [](const Configuration& configuration) { return configuration.cut; },
      .label =
          [](const Configuration& configuration) {
            const bool is_usual = configuration.cut == automatic_choice || configuration.cut == even_cut;
            return is_usual ? std::string() : "cut " + configuration.cut;
          },
      .title = [](const Configuration& configuration) { return "cut " + configuration.cut; }};
}

void parse_ranks_per_node(Configuration& configuration, std::string_view text) {
  require_not_negative(std::string(node_option), number_from<int>(text));
  configuration.ranks_per_node = whole_number(node_option, text, 0, std::numeric_limits<int>::max());
}

ConfigurationAxis node_axis() {
  return {
      .name = "ranks_per_node",
      .option = node_option,
      .help =
          "pretend nodes of so many ranks, to see on one machine what shared and put do on several; "
          "0: the real nodes",
      .type = AxisType::number,
      .parse = &parse_ranks_per_node,
      .parse_recorded = &parse_ranks_per_node,
      .print =
          [](const Configuration& configuration) { return fmt::format("{}", configuration.ranks_per_node); },
      .label =
          [](const Configuration& configuration) {
            return configuration.ranks_per_node == 0
                       ? std::string()
                       : format_count(configuration.ranks_per_node, "rank") + " per node";
          },
      .title =
          [](const Configuration& configuration) {
            return configuration.ranks_per_node == 0
                       ? std::string("nodes as they are")
                       : "nodes of " + format_count(configuration.ranks_per_node, "rank");
          }};
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
