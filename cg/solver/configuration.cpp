#include "cg/solver/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/text_format.hpp"
#include "cg/base/values.hpp"
#include "cg/solver/block_product.hpp"

namespace cg2d {
namespace {

struct SumFormRow {
  std::string_view name;
  comm::SumForm form;
};

constexpr std::array sum_form_table{
    SumFormRow{.name = "reduce-scatter", .form = comm::SumForm::reduce_scatter},
    SumFormRow{.name = "whole-block", .form = comm::SumForm::whole_block}};

std::string nothing(const Configuration& /*configuration*/) { return {}; }

/// A whole number within smallest ... largest. Throws InputError that names the option.
int whole_number(std::string_view option, std::string_view text, int smallest, int largest) {
  const auto value = number_from<int>(text);
  if (!value)
    throw InputError(fmt::format("{}: \"{}\" is not a whole number up to {}", option, text, largest));
  if (*value < smallest || *value > largest) {
    throw InputError(fmt::format("{} {}: must be within {} ... {}", option, *value, smallest, largest));
  }
  return *value;
}

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
constexpr std::string_view node_option = "--ranks-per-node";

ConfigurationAxis kernel_axis() {
  return {.name = "kernel",
          .option = kernel_option,
          .help = "matrix-vector product (--list-kernels), or auto",
          .list_help = "kernels, such as auto,sell; auto if not given",
          .type = AxisType::text,
          .parse =
              [](Configuration& configuration, std::string_view text) {
                require_row_or_automatic(kernel_option, text, all_kernels());
                configuration.kernel = text;
              },
          .print = [](const Configuration& configuration) { return configuration.kernel; },
          .label = [](const Configuration& configuration) { return configuration.kernel; },
          .why_refused = &nothing};
}

ConfigurationAxis transport_axis() {
  return {.name = "transport",
          .option = transport_option,
          .help = "way to move data (--list-transports), or auto",
          .list_help = "ways to move data (cg2d run --list-transports)",
          .type = AxisType::text,
          .parse =
              [](Configuration& configuration, std::string_view text) {
                require_row_or_automatic(transport_option, text, comm::transport_table());
                configuration.transport = text;
              },
          .print = [](const Configuration& configuration) { return configuration.transport; },
          .label = [](const Configuration& configuration) { return configuration.transport; },
          .why_refused = &nothing};
}

ConfigurationAxis thread_axis() {
  return {
      .name = "threads",
      .option = threads_option,
      .help = "threads of each rank",
      .list_help = "threads of each rank, such as 1,2; 1 if not given",
      .type = AxisType::number,
      .parse =
          [](Configuration& configuration, std::string_view text) {
            configuration.thread_count = whole_number(threads_option, text, 1, most_threads);
          },
      .print =
          [](const Configuration& configuration) { return fmt::format("{}", configuration.thread_count); },
      .label =
          [](const Configuration& configuration) {
            return format_count(configuration.thread_count, "thread");
          },
      .why_refused = &nothing};
}

ConfigurationAxis sum_axis() {
  return {.name = "sum_form",
          .option = sum_option,
          .help = "summation over a process row: reduce-scatter or whole-block (as in the paper)",
          .list_help = "sums over a process row: reduce-scatter, whole-block",
          .type = AxisType::text,
          .parse =
              [](Configuration& configuration, std::string_view text) {
                require_known(std::string(sum_option), std::string(text), names_of(sum_form_table));
                configuration.sum_form = *find_sum_form(text);
              },
          .print = [](const Configuration& configuration) { return sum_form_name(configuration.sum_form); },
          .label =
              [](const Configuration& configuration) {
                const bool is_usual = configuration.sum_form == Configuration().sum_form;
                return is_usual ? std::string() : sum_form_name(configuration.sum_form);
              },
          .why_refused = &nothing};
}

ConfigurationAxis overlap_axis() {
  return {.name = "overlap",
          .option = overlap_option,
          .help = "on: multiply what is here while the rest of the operand is under way",
          .list_help = "off, on, or off,on: multiply while the rest is under way",
          .type = AxisType::flag,
          .parse =
              [](Configuration& configuration, std::string_view text) {
                require_known(std::string(overlap_option), std::string(text), {"off", "on"});
                configuration.overlaps = text == "on";
              },
          .print = [](const Configuration& configuration) -> std::string {
            return configuration.overlaps ? "on" : "off";
          },
          .label = [](const Configuration& configuration) -> std::string {
            return configuration.overlaps ? "overlap" : "";
          },
          .why_refused = &nothing};
}

ConfigurationAxis node_axis() {
  return {
      .name = "ranks_per_node",
      .option = node_option,
      .help = "pretend nodes of so many ranks, to see on one machine what shared and put do on several",
      .list_help = {},
      .type = AxisType::number,
      .parse =
          [](Configuration& configuration, std::string_view text) {
            const auto value = number_from<int>(text);
            require_not_negative(std::string(node_option), value);
            configuration.ranks_per_node =
                whole_number(node_option, text, 0, std::numeric_limits<int>::max());
          },
      .print =
          [](const Configuration& configuration) { return fmt::format("{}", configuration.ranks_per_node); },
      .label =
          [](const Configuration& configuration) {
            return configuration.ranks_per_node == 0
                       ? std::string()
                       : format_count(configuration.ranks_per_node, "rank") + " per node";
          },
      .why_refused = &nothing};
}

}  // namespace

std::span<const ConfigurationAxis> configuration_axes() {
  static const std::array table{kernel_axis(), transport_axis(), thread_axis(),
                                sum_axis(),    overlap_axis(),   node_axis()};
  return table;
}

const ConfigurationAxis& configuration_axis(std::string_view name) {
  return *std::ranges::find(configuration_axes(), name, &ConfigurationAxis::name);
}

void check_configuration(const Configuration& configuration) {
  for (const auto& axis : configuration_axes()) {
    if (const auto reason = axis.why_refused(configuration); !reason.empty()) {
      throw InputError(fmt::format("{} {}: {}", axis.option, axis.print(configuration), reason));
    }
  }
}

std::string configuration_key(const Configuration& configuration) {
  std::string key = configuration.grid.name();
  for (const auto& axis : configuration_axes()) {
    if (const auto label = axis.label(configuration); !label.empty()) key += " " + label;
  }
  return key;
}

std::vector<Configuration> crossed(const Configuration& common,
                                   std::span<const std::vector<std::string>> values) {
  std::vector<Configuration> all{common};
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k].empty()) continue;
    std::vector<Configuration> longer;
    longer.reserve(all.size() * values[k].size());
    for (const auto& shorter : all) {
      for (const auto& text : values[k]) configuration_axes()[k].parse(longer.emplace_back(shorter), text);
    }
    all = std::move(longer);
  }
  return all;
}

comm::CommunicatorOptions communicator_options(const Configuration& configuration, bool mirrored) {
  return {.sum_form = configuration.sum_form,
          .mirrored = mirrored,
          .ranks_per_node = configuration.ranks_per_node};
}

std::string sum_form_name(comm::SumForm form) {
  return std::string(std::ranges::find(sum_form_table, form, &SumFormRow::form)->name);
}

std::vector<std::string> sum_form_names() { return names_of(sum_form_table); }

std::optional<comm::SumForm> find_sum_form(std::string_view name) {
  const auto* const row = std::ranges::find(sum_form_table, name, &SumFormRow::name);
  return row == sum_form_table.end() ? std::nullopt : std::optional(row->form);
}

}  // namespace cg2d
