// The command line of `cg2d pingpong`.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/studies/pingpong.hpp"

namespace cg2d {
namespace {

/// 8 bytes to 8 MiB.
std::vector<std::int64_t> default_byte_counts() {
  constexpr std::int64_t largest = std::int64_t{8} << 20;
  std::vector<std::int64_t> byte_counts;
  for (std::int64_t bytes = 8; bytes < largest; bytes *= 4) byte_counts.push_back(bytes);
  byte_counts.push_back(largest);
  return byte_counts;
}

RankPair pair_from(const std::string& text) {
  const auto ranks = split_at(text, ':');
  const auto first = number_from<int>(ranks.front());
  const auto second = number_from<int>(ranks.back());
  if (ranks.size() != 2 || !first || !second || *first < 0 || *second < 0)
    throw InputError("--pairs {}: must be two ranks A:B, such as 0:1", text);
  if (*first == *second) throw InputError("--pairs {}: must be two different ranks, such as 0:1", text);
  return {.first = *first, .second = *second};
}

std::int64_t variable_bytes_from(const std::string& option, const std::string& text) {
  const auto bytes = byte_count_from(option, text);
  if (bytes > largest_variable_byte_count)
    throw InputError("{} {}: must be within 1 ... {} bytes", option, bytes, largest_variable_byte_count);
  return bytes;
}

void add_pingpong_options(OptionSet& options, PingPongOptions& pingpong) {
  auto& transfers = pingpong.transfers;
  options.add_list({"--pairs", "A:B", "pairs of ranks, such as 0:1,0:2", "0:1"}, pingpong.pairs, &pair_from);
  options.add_list({"--sizes", "SIZE", "message sizes, such as 8,64kB", "powers of 4 from 8 to 8MiB"},
                   transfers.byte_counts, &variable_bytes_from);
  options.add_list({"--variables", "N", "messages per synchronization", "1,8"}, transfers.variable_counts,
                   {.most = most_variables});
  options.add_list({"--methods", one_of(pingpong_method_names()), "transfer methods", "all"},
                   transfers.methods);
  add_axis_option(options, "ranks_per_node", pingpong.configuration);
  options.add({"--class", one_of(class_letters()), "the class whose phases are timed", "A"}, pingpong.problem,
              &problem_class);
  add_grid_option(options, pingpong, "the grid of these; auto: that of the rule");
  add_memory_limit_option(options, pingpong.memory_limit_bytes);
  add_host_name_option(options, pingpong.names_hosts);
  add_progress_options(options, pingpong.progress);
  add_result_options(options, pingpong.format, pingpong_formats, pingpong.output);
}

void check_pingpong(PingPongOptions& pingpong, const OptionSet& given) {
  auto& transfers = pingpong.transfers;
  if (!given.has("--pairs")) pingpong.pairs.emplace_back();
  if (!given.has("--sizes")) transfers.byte_counts = default_byte_counts();
  if (!given.has("--variables")) transfers.variable_counts = {1, 8};
  if (!given.has("--methods")) transfers.methods = pingpong_method_names();
  if (!given.has("--class")) pingpong.problem = problem_class("A");
}

}  // namespace

SubcommandRow pingpong_subcommand() {
  return {.name = "pingpong",
          .description = "measure messages, puts, gets, shared memory and the phases of every transport",
          .examples = {"mpiexec -n 2 cg2d pingpong --class S --pairs 0:1 --sizes 8",
                       "mpiexec -n 2 cg2d pingpong --sizes 8,64kB --methods nonblocking --class S"},
          .declare = subcommand_with<PingPongOptions, add_pingpong_options, check_pingpong, pingpong>};
}

}  // namespace cg2d
