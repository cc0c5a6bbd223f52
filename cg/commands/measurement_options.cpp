// The command lines of `cg2d tune`, `pingpong`, `check` and `stencil`.

#include "cg/base/storage/unnamed_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/run/check/check.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/pingpong.hpp"
#include "cg/studies/tune_command.hpp"

namespace cg2d {
namespace {

void check_tune(TuneOptions& tune, const Subcommand& given) {
  resolve_profile(tune.profile, true);
  check_configuration(tune.configuration);
  tune.transport_is_default = !given.has("--transport");
  if (!tune.configuration.has_transport())
    throw InputError(
        "--transport auto: tune compares kernels over one transport: name it; cg2d run --transport auto "
        "compares transports");
}

RankPair pair_from(const std::string& text) {
  const auto ranks = split_at(text, ':');
  const auto first = number_from<int>(ranks.front());
  const auto second = number_from<int>(ranks.back());
  if (ranks.size() != 2 || !first || !second || *first < 0 || *second < 0)
    throw InputError("--pairs {}: must be two ranks A:B, such as 0:1", text);
  if (*first == *second) throw InputError("--pairs {}: must be two different ranks, such as 0:1", text);
  return {*first, *second};
}

int64_t variable_bytes_from(const std::string& option, const std::string& text) {
  const auto bytes = byte_count_from(option, text);
  if (bytes > largest_variable_byte_count)
    throw InputError("{} {}: must be within 1 ... {} bytes", option, bytes, largest_variable_byte_count);
  return bytes;
}

}  // namespace

void declare_tune(Subcommand& command) {
  command.describe("find the fastest kernel and its settings on this machine",
                   {"mpiexec -n 2 cg2d tune --class S",
                    "mpiexec -n 2 cg2d tune --class S --grid 1x2 --transport two-sided --no-profile"});
  auto& tune = command.with<TuneOptions>(&cg2d::tune);
  add_classes_option(command, tune.problems, "A");
  add_grids_option(command, tune.grids, "tune");
  add_axis_option(command, "threads", tune.configuration);
  add_bind_option(command, tune.bind);
  add_axis_option(command, "transport", tune.configuration,
                  "how data moves between ranks (cg2d run --list-transports)");
  add_memory_limit_option(command, tune.memory_limit_bytes);
  command.add("--profile FILE", "file for the result instead of the default one", tune.profile.path,
              {.standing = "the user's", .file = FileUse::updates});
  command.add("--no-profile", "write no profile: only print", tune.profile.is_used);
  command.add("--keep-disturbed", "save also what was measured beside other load; runs that use it say so",
              tune.profile.keeps_disturbed);
  command.add("--list", "measure nothing: print the contents of the profile", tune.lists);
  command.add("--remove NAME",
              "measure nothing: remove a processor, or the cases of a matrix, as --list names them",
              tune.removes);
  add_progress_options(command, tune.progress);
  for (const auto* const question : {"--list", "--remove"})
    command.exclude_others(question, {"--profile", "--progress", "--quiet"});
  command.exclude("--profile", "--no-profile");
  command.check = [&] { check_tune(tune, command); };
}

void declare_check(Subcommand& command) {
  command.describe("check kernels, transports and results on this machine",
                   {"mpiexec -n 4 cg2d check", "mpiexec -n 2 cg2d check --format json --output check.json"});
  auto& check = command.with<CheckOptions>(&check_installation);
  add_result_options(command, check.format, {"text", "json"}, check.output);
  add_memory_limit_option(command, check.memory_limit_bytes);
  add_progress_options(command, check.progress);
}

void declare_pingpong(Subcommand& command) {
  command.describe("measure messages, puts, gets, shared memory and the phases of every transport",
                   {"mpiexec -n 2 cg2d pingpong --class S --pairs 0:1 --sizes 8",
                    "mpiexec -n 2 cg2d pingpong --sizes 8,64kB --methods nonblocking --class S"});
  auto& pingpong = command.with<PingPongOptions>(&cg2d::pingpong);
  auto& transfers = pingpong.transfers;
  pingpong.pairs.push_back({0, 1});
  for (int64_t bytes = 8; bytes <= int64_t{8} << 20; bytes *= 4) transfers.byte_counts.push_back(bytes);
  transfers.variable_counts = {1, 8};
  transfers.methods = pingpong_method_names();
  pingpong.problem = problem_class("A");
  command.add("--pairs A:B", "pairs of ranks, such as 0:1,0:2", pingpong.pairs, &pair_from,
              {.standing = "0:1"});
  command.add("--sizes SIZE", "message sizes, such as 8,64kB", transfers.byte_counts, &variable_bytes_from,
              {.standing = "powers of 4 from 8 to 8MiB"});
  command.add("--variables N", "messages per synchronization", transfers.variable_counts,
              {.standing = "1,8", .most = most_variables});
  command.add("--methods " + one_of(pingpong_method_names()), "transfer methods", transfers.methods,
              {.standing = "all"});
  add_axis_option(command, "ranks_per_node", pingpong.configuration);
  add_class_option(command, pingpong.problem, "the class whose phases are timed", "A");
  add_grid_option(command, pingpong.open_grid, pingpong.configuration,
                  "the grid of these; auto: that of the rule");
  add_memory_limit_option(command, pingpong.memory_limit_bytes);
  command.add("--hostname", "name hosts in the result; otherwise they are node 0, node 1, ...",
              pingpong.names_hosts);
  add_progress_options(command, pingpong.progress);
  add_result_options(command, pingpong.format, pingpong_formats, pingpong.output);
}

void declare_stencil(Subcommand& command) {
  command.describe("steps of the heat equation, or of CG, on a domain in memory or on local storage",
                   {"mpiexec -n 2 cg2d stencil --shape 128x128x128 --steps 64",
                    "mpiexec -n 2 cg2d stencil --method s-step-cg --steps 500 --rtol 1e-6 --out-of-core ."});
  constexpr int most_steps = 1'000'000'000;
  auto& stencil = command.with<StencilOptions>(&run_stencil);
  stencil.shape = {128, 128, 128};
  command.add("--shape NXxNYxNZ", "points along x, y and z; ranks share the planes along z", stencil.shape,
              &shape_from, {.standing = shape_text(stencil.shape)});
  command.add("--method " + one_of(names_of(stencil_method_table())),
              "steps of the heat equation, or of conjugate gradients in s-step form", stencil.method);
  command.add("--steps N", "steps in time, or of CG at most", stencil.step_count, {.most = most_steps});
  command.add("--rtol X", "s-step-cg ends at this residual, relative to b; 0: after all steps",
              stencil.tolerance, {.is_from_zero = true, .below = 1});
  command.add("--temporal-block auto|N",
              "temporal blocking depth: steps in each pass over the domain; auto: by a trial", stencil.block,
              &block_from, {.standing = "auto"});
  command.add(
      "--out-of-core DIR,...",
      "keep the domain in unlinked temporary files in the folder DIR on local storage, or by rank in several",
      stencil.folders, &folders_from, {.standing = "in memory", .file = FileUse::folder});
  add_memory_limit_option(command, stencil.memory_limit_bytes);
  add_result_options(command, stencil.format, {"text", "json"}, stencil.output);
  add_progress_options(command, stencil.progress);
  command.check = [&] {
    if (stencil.tolerance > 0.0 && !row_named(stencil_method_table(), stencil.method)->has_residual)
      throw InputError(
          "--rtol: steps of the heat equation have no residual; it belongs to --method s-step-cg");
  };
}

}  // namespace cg2d
