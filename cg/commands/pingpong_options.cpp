// The command line of `cg2d pingpong`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/commands/help/described_option.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/pingpong_command.hpp"
#include "cg/studies/pingpong_report.hpp"

namespace cg2d {
namespace {

/// The parsed arguments of `cg2d pingpong`; `options` has those that need no conversion.
struct PingPongArguments {
  AxisValues axes;
  std::vector<std::string> pairs;
  std::string class_letter = "A";
  std::string grid = "auto";
  PingPongOptions options;
};

/// 8 bytes to 8 MiB.
std::vector<std::int64_t> default_byte_counts() {
  constexpr std::int64_t largest = std::int64_t{8} << 20;
  std::vector<std::int64_t> byte_counts;
  for (std::int64_t bytes = 8; bytes < largest; bytes *= 4) byte_counts.push_back(bytes);
  byte_counts.push_back(largest);
  return byte_counts;
}

void add_pingpong_options(CLI::App& parser, PingPongArguments& arguments) {
  auto& options = arguments.options;
  add_list_option(parser, "--pairs", arguments.pairs, "pairs of ranks, such as 0:1,0:2")
      ->type_name("A:B")
      ->default_str("0:1");
  add_list_option(parser, "--sizes", options.transfers.byte_counts, "sizes of a variable, such as 8,64kB")
      ->transform(byte_count())
      ->type_name("SIZE")
      ->default_str("powers of 4 from 8 to 8MiB");
  add_list_option(parser, "--variables", options.transfers.variable_counts, "messages per synchronization")
      ->default_str("1,8");
  add_list_option(parser, "--methods", options.transfers.methods, "transfer methods")
      ->type_name(type_of_values(pingpong_method_names()))
      ->default_str("all");
  add_axis_option(parser, "ranks_per_node", arguments.axes);
  parser.add_option("--class", arguments.class_letter, "the class whose phases are timed")
      ->type_name(type_of_values(class_letters()));
  parser.add_option("--grid", arguments.grid, "the grid of these; auto: that of the rule")
      ->type_name(type_of_values({"auto", "rule", "official", "PXxPY"}));
  add_host_name_option(parser, options.names_hosts);
  add_progress_options(parser, options.progress);
  add_format_option(parser, options.format, pingpong_format_names());
  add_file_option(parser, "--output", FileUse::writes, options.output, "write the result to FILE")
      ->default_str("standard output");
}

RankPair pair_from(const std::string& text) {
  const auto colon = text.find(':');
  const std::string_view view = text;
  const auto first = number_from<int>(view.substr(0, colon));
  const auto second = number_from<int>(view.substr(colon == std::string::npos ? view.size() : colon + 1));
  if (!first || !second || *first < 0 || *second < 0)
    throw InputError(fmt::format("--pairs {}: must be two ranks A:B, such as 0:1", text));
  if (*first == *second)
    throw InputError(fmt::format("--pairs {}: must be two different ranks, such as 0:1", text));
  return {.first = *first, .second = *second};
}

PingPongOptions pingpong_options_from(const PingPongArguments& arguments) {
  PingPongOptions options = arguments.options;
  for (const auto& text : arguments.pairs) options.pairs.push_back(pair_from(text));
  if (options.pairs.empty()) options.pairs.emplace_back();
  auto& transfers = options.transfers;
  if (transfers.byte_counts.empty()) transfers.byte_counts = default_byte_counts();
  for (const auto bytes : transfers.byte_counts) {
    if (bytes > largest_variable_byte_count) {
      throw InputError(
          fmt::format("--sizes {}: must be within 1 ... {} bytes", bytes, largest_variable_byte_count));
    }
  }
  if (transfers.variable_counts.empty()) transfers.variable_counts = {1, 8};
  for (const int count : transfers.variable_counts) require_within("--variables", count, most_variables);
  if (transfers.methods.empty()) transfers.methods = pingpong_method_names();
  for (const auto& name : transfers.methods) require_known("--methods", name, pingpong_method_names());
  options.problem = problem_class(arguments.class_letter);
  options.configuration = configuration_from(arguments.axes);
  set_grid(options, arguments.grid);
  require_known("--format", options.format, pingpong_format_names());
  return options;
}

}  // namespace

SubcommandRow pingpong_subcommand() {
  return {.name = "pingpong",
          .description = "measure messages, puts, gets, shared memory and the phases of every transport",
          .examples = {"mpiexec -n 2 cg2d pingpong --class S --pairs 0:1 --sizes 8",
                       "mpiexec -n 2 cg2d pingpong --sizes 8,64kB --methods nonblocking --class S"},
          .declare = subcommand_with<PingPongArguments, add_pingpong_options,
                                     command_action<pingpong_options_from, pingpong, PingPongArguments>>};
}

}  // namespace cg2d
