// The command lines of `cg2d tune`, `pingpong`, `check` and `stencil`.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cg/base/storage/folders.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/run/check/check.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/pingpong.hpp"
#include "cg/studies/tune_command.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- tune

void add_tune_options(OptionSet& options, TuneOptions& tune) {
  add_classes_option(options, tune.problems, "A");
  add_grids_option(options, tune.grids, "tune");
  add_axis_option(options, "threads", tune.configuration);
  add_bind_option(options, tune.bind);
  add_axis_option(options, "transport", tune.configuration,
                  "how data moves between ranks (cg2d run --list-transports)");
  options.add("--out-of-core DIR,...",
              "measure how panels are best read from the storage of these folders, instead of kernels",
              tune.out_of_core.folders, &folders_from, {.standing = "kernels", .file = FileUse::folder});
  add_memory_limit_option(options, tune.memory_limit_bytes);
  add_profile_options(options, tune.profile, "file for the result instead of the default one",
                      "write no profile: only print");
  options.add("--keep-disturbed", "save also what was measured beside other load; runs that use it say so",
              tune.profile.keeps_disturbed);
  options.add("--list", "measure nothing: print the contents of the profile", tune.lists);
  options.add("--remove NAME",
              "measure nothing: remove a processor, or the cases of a matrix, as --list names them",
              tune.removes);
  add_progress_options(options, tune.progress);
  for (const auto* const question : {"--list", "--remove"})
    options.exclude_others(question,
                           {"--list", "--remove", "--profile", "--no-profile", "--progress", "--quiet"});
  for (const auto* const option : {"--threads", "--transport", "--bind"})
    options.exclude("--out-of-core", option);
}

void check_tune(TuneOptions& tune, const OptionSet& given) {
  resolve_profile(tune.profile, true);
  if (tune.lists && tune.removes) throw InputError("--list and --remove do not go together");
  if ((tune.lists || tune.removes) && !tune.profile.is_used)
    throw InputError("--list and --remove are about the profile; leave --no-profile out");
  if (tune.out_of_core.is_used() && (given.has("--class") || given.has("--grid")))
    throw InputError(
        "--out-of-core: measures storage; leave --class and --grid, which are about kernels, out");
  check_configuration(tune.configuration);
  tune.transport_is_default = !given.has("--transport");
  if (!tune.configuration.has_transport())
    throw InputError(
        "--transport auto: tune compares kernels over one transport: name it; cg2d run --transport auto "
        "compares transports");
}

// ---------------------------------------------------------------- check

void add_check_options(OptionSet& options, CheckOptions& check) {
  add_result_options(options, check.format, {"text", "json"}, check.output);
  add_memory_limit_option(options, check.memory_limit_bytes);
  add_progress_options(options, check.progress);
}

// ---------------------------------------------------------------- pingpong

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
  pingpong.pairs.emplace_back();
  for (std::int64_t bytes = 8; bytes <= std::int64_t{8} << 20; bytes *= 4)
    transfers.byte_counts.push_back(bytes);
  transfers.variable_counts = {1, 8};
  transfers.methods = pingpong_method_names();
  pingpong.problem = problem_class("A");
  options.add("--pairs A:B", "pairs of ranks, such as 0:1,0:2", pingpong.pairs, &pair_from,
              {.standing = "0:1"});
  options.add("--sizes SIZE", "message sizes, such as 8,64kB", transfers.byte_counts, &variable_bytes_from,
              {.standing = "powers of 4 from 8 to 8MiB"});
  options.add("--variables N", "messages per synchronization", transfers.variable_counts,
              {.standing = "1,8", .most = most_variables});
  options.add("--methods " + one_of(pingpong_method_names()), "transfer methods", transfers.methods,
              {.standing = "all"});
  add_axis_option(options, "ranks_per_node", pingpong.configuration);
  options.add("--class " + one_of(class_letters()), "the class whose phases are timed", pingpong.problem,
              &problem_class, {.standing = "A"});
  add_grid_option(options, pingpong, "the grid of these; auto: that of the rule");
  add_memory_limit_option(options, pingpong.memory_limit_bytes);
  add_host_name_option(options, pingpong.names_hosts);
  add_progress_options(options, pingpong.progress);
  add_result_options(options, pingpong.format, pingpong_formats, pingpong.output);
}

// ---------------------------------------------------------------- stencil

void add_stencil_options(OptionSet& options, StencilOptions& stencil) {
  stencil.shape = {128, 128, 128};
  options.add("--shape NXxNYxNZ", "points along x, y and z; ranks share the planes along z", stencil.shape,
              &shape_from, {.standing = shape_text(stencil.shape)});
  options.add("--method " + one_of(names_of(stencil_method_table())),
              "steps of the heat equation, or of conjugate gradients in s-step form", stencil.method);
  constexpr int most_steps = 1'000'000'000;
  options.add("--steps N", "steps in time, or of CG at most", stencil.step_count, {.most = most_steps});
  options.add("--rtol X", "s-step-cg ends at this residual, relative to b; 0: after all steps",
              stencil.tolerance, {.is_from_zero = true, .below = 1});
  options.add("--temporal-block auto|N",
              "temporal blocking depth: steps in each pass over the domain; auto: by a trial", stencil.block,
              &block_from, {.standing = "auto"});
  options.add(
      "--out-of-core DIR,...",
      "keep the domain in unlinked temporary files in the folder DIR on local storage, or by rank in several",
      stencil.folders, &folders_from, {.standing = "in memory", .file = FileUse::folder});
  add_memory_limit_option(options, stencil.memory_limit_bytes);
  add_result_options(options, stencil.format, {"text", "json"}, stencil.output);
  add_progress_options(options, stencil.progress);
}

void check_stencil(StencilOptions& stencil, const OptionSet& /*given*/) {
  if (stencil.tolerance > 0.0 && !row_named(stencil_method_table(), stencil.method)->has_residual)
    throw InputError("--rtol: steps of the heat equation have no residual; it belongs to --method s-step-cg");
}

}  // namespace

SubcommandRows measurement_subcommands() {
  return {
      {.name = "tune",
       .description = "find the fastest kernel and its settings on this machine",
       .examples = {"mpiexec -n 2 cg2d tune --class S",
                    "mpiexec -n 2 cg2d tune --out-of-core /tmp --memory-limit 100MB --no-profile"},
       .declare = subcommand_with<add_tune_options, check_tune, tune>},
      {.name = "check",
       .description = "check kernels, transports and results on this machine",
       .examples = {"mpiexec -n 4 cg2d check", "mpiexec -n 2 cg2d check --format json --output check.json"},
       .declare = subcommand_with<add_check_options, no_check<CheckOptions>, check_installation>,
       .is_task = true},
      {.name = "pingpong",
       .description = "measure messages, puts, gets, shared memory and the phases of every transport",
       .examples = {"mpiexec -n 2 cg2d pingpong --class S --pairs 0:1 --sizes 8",
                    "mpiexec -n 2 cg2d pingpong --sizes 8,64kB --methods nonblocking --class S"},
       .declare = subcommand_with<add_pingpong_options, no_check<PingPongOptions>, pingpong>},
      {.name = "stencil",
       .description = "steps of the heat equation, or of CG, on a domain in memory or on local storage",
       .examples = {"mpiexec -n 2 cg2d stencil --shape 128x128x128 --steps 64",
                    "mpiexec -n 2 cg2d stencil --method s-step-cg --steps 500 --rtol 1e-6 --out-of-core ."},
       .declare = subcommand_with<add_stencil_options, check_stencil, run_stencil>,
       .is_task = true}};
}

}  // namespace cg2d
