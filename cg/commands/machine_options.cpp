// The command lines of `cg2d tune`, `check`, `pingpong` and `stencil`, which measure a machine, and of `cg2d model`, `simulate` and `explain`, which
// model one.

#include "cg/base/storage/unnamed_file.hpp"
#include "cg/commands/shared_options.hpp"
#include "cg/explain/explanation.hpp"
#include "cg/machine/interconnect.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/run/check/check.hpp"
#include "cg/simulation/simulate_command.hpp"
#include "cg/solver/cg_step.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_run.hpp"
#include "cg/studies/model_command.hpp"
#include "cg/studies/pingpong.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- tune and pingpong

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

// ---------------------------------------------------------------- model and simulate

/// --machine NAME|FILE: a described machine.
void add_machine_option(Subcommand& command, std::string& machine, const std::string& standing, FileUse use) {
  command.add(
      "--machine NAME|FILE",
      fmt::format("a machine that comes with cg2d ({}) or a description file", shipped_machine_names()),
      machine, {.standing = standing, .file = use});
}

/// The descriptions that --paper and --template take where none is named.
constexpr std::string_view paper_machine = "cp-pacs-measured";
constexpr std::string_view template_machine = "infiniband-cluster";

/// Throws InputError for a grid of more ranks.
void require_ranks_of(const comm::ProcessGrid& grid, int most_ranks) {
  require_within("--grid " + grid.name() + ": its ranks", grid.rank_count(), most_ranks);
}

void check_model(ModelOptions& model, const Subcommand& given) {
  model.configuration = with_cut(model.configuration, even_cut);
  check_configuration(model.configuration);
  require_cut_of_benchmark(model.configuration.cut);
  if (model.compares_paper && model.machine.empty()) model.machine = paper_machine;
  if (model.shows_template && model.machine.empty()) model.machine = template_machine;
  if (model.calibrates && !given.has("--class"))
    model.problems = {problem_class("W"), problem_class("A"), problem_class("B")};
  for (const auto& grid : model.grids.grids) require_ranks_of(grid, most_modelled_ranks);
}

void check_simulate(SimulateOptions& simulate) {
  simulate.configuration = with_cut(simulate.configuration, even_cut);
  check_configuration(simulate.configuration);
  if (!simulate.interconnect.empty()) {
    try {
      static_cast<void>(interconnect_from(simulate.interconnect));
    } catch (const InputError& error) {
      throw InputError("--interconnect {}: {}", simulate.interconnect, error.what());
    }
  }
  if (std::ranges::any_of(simulate.slow, [](const auto& slow) { return slow.first_product > 0; }))
    throw InputError("{}: every simulated CG step is the same; give RANK:FACTOR", slow_rank_option);
  if (!simulate.trace.empty() &&
      (simulate.problems.size() > 1 || simulate.grids.grids.size() != 1 || simulate.grids.has_official))
    throw InputError("--trace is of one class on one grid: give --grid PXxPY");
  if (simulate.rank_count == 0 && simulate.grids.grids.empty())
    throw InputError("--ranks or --grid is needed: how many ranks are simulated");
  for (const auto& grid : simulate.grids.grids) {
    require_ranks_of(grid, most_simulated_ranks);
    if (simulate.rank_count > 0) require_grid_of(grid, simulate.rank_count);
  }
}

/// The grids, and the kernel and the transport of a description on them.
void add_described_options(Subcommand& command, NamedGrids& grids, const std::string& name,
                           Configuration& configuration) {
  add_grids_option(command, grids, name);
  command.add("--kernel NAME", "a kernel of the description", configuration.kernel,
              {.standing = "the description's"});
  add_axis_option(command, "transport", configuration,
                  "how data moves between ranks (cg2d run --list-transports)",
                  comm::default_transport().name);
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
  for (const auto* const of_profiles : {"--profile", "--keep-disturbed"})
    command.exclude(of_profiles, "--no-profile");
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

void declare_model(Subcommand& command) {
  command.describe("predict the time of every phase and grid on a described machine",
                   {"cg2d model --machine cp-pacs --class C --ranks 64 --grid 8x8,4x16",
                    "cg2d model --paper --machine cp-pacs"});
  auto& model = command.with<ModelOptions>(&cg2d::model);
  add_machine_option(command, model.machine, "this machine's", FileUse::updates);
  add_classes_option(command, model.problems, "B", "; W,A,B with --calibrate");
  command.add("--ranks N", "numbers of ranks, such as 1,2,4", model.rank_counts,
              {.standing = "those that run", .most = most_modelled_ranks});
  add_described_options(command, model.grids, "model", model.configuration);
  add_axis_option(
      command, "cut", model.configuration,
      "pieces of the matrix: equal ones, shares by the speeds of the ranks, or shares from a file");
  command.add(std::string(slow_rank_option) + " R:FACTOR[@PRODUCT],...",
              "products of rank R take FACTOR times as long, from that product of the run on", model.slow,
              &slow_ranks_from, {.standing = "none"});
  command.add("--paper",
              "the tables of the paper, each number beside the model's; with a description of its machine",
              model.compares_paper);
  command.add("--template",
              fmt::format("write a description to begin one's own with: {}, or the one of --machine NAME",
                          template_machine),
              model.shows_template);
  command.add("--calibrate",
              "measure this machine with the ranks that run, and write its description (to --machine FILE)",
              model.calibrates);
  add_axis_option(command, "threads", model.configuration, "with --calibrate: threads of each rank");
  command.add("--keep-disturbed",
              "with --calibrate: save also what was measured beside other load; runs that use it say so",
              model.keeps_disturbed);
  add_memory_limit_option(command, model.memory_limit_bytes);
  for (const auto* const option : {"--threads", "--keep-disturbed", "--memory-limit"})
    command.require_with(option, "--calibrate");
  add_progress_options(command, model.progress);
  add_result_options(command, model.format, {"text", "json"}, model.output);
  command.exclude_others("--paper", {"--machine", "--format", "--output", "--progress", "--quiet"});
  command.exclude_others("--template", {"--machine", "--output", "--progress", "--quiet"});
  command.exclude_others("--calibrate", {"--machine", "--class", "--threads", "--keep-disturbed",
                                         "--memory-limit", "--output", "--progress", "--quiet"});
  command.check = [&] { check_model(model, command); };
}

void declare_simulate(Subcommand& command) {
  command.describe("simulate CG steps on a described machine whose links are shared",
                   {"cg2d simulate --interconnect hyper-crossbar:4x8x8 --ranks 256",
                    "cg2d simulate --machine infiniband-cluster --class C --grid 30x8 --placement blocked"});
  auto& simulate = command.with<SimulateOptions>(&cg2d::simulate);
  simulate.machine = "cp-pacs";
  add_machine_option(command, simulate.machine, "cp-pacs", FileUse::reads);
  command.add("--interconnect TOPOLOGY[:AxB...]",
              fmt::format("another network between its nodes: {}", fmt::join(interconnect_names(), ", ")),
              simulate.interconnect, {.standing = "the description's"});
  add_classes_option(command, simulate.problems, "B");
  command.add("--ranks N", "number of ranks", simulate.rank_count,
              {.standing = "those of the grids", .most = most_simulated_ranks});
  add_described_options(command, simulate.grids, "simulate", simulate.configuration);
  command.add("--placement WHERE", fmt::format("where ranks are: {}", placement_values), simulate.placement);
  command.add(std::string(slow_rank_option) + " R:FACTOR,...", "products of rank R take FACTOR times as long",
              simulate.slow, &slow_ranks_from, {.standing = "none"});
  command.add("--steps N", "CG steps, one after the other", simulate.step_count, {.most = 10'000});
  command.add("--trace FILE", "a time line of the ranks, for one class and grid, as of cg2d run --trace",
              simulate.trace, {.file = FileUse::writes});
  command.add("--what-if",
              "also with links twice as fast, half the latency, ranks four times as fast, one slow "
              "link, and one slow node",
              simulate.asks_what_if);
  add_progress_options(command, simulate.progress);
  add_result_options(command, simulate.format, {"text", "json"}, simulate.output);
  command.check = [&] { check_simulate(simulate); };
}

void declare_explain(Subcommand& command) {
  command.describe("draw who sends what to whom in one CG step, on any grid",
                   {"cg2d explain --grid 2x3",
                    "cg2d explain --grid 4x2 --step shuffle --format svg --output shuffle.svg"});
  auto& explain = command.with<ExplainOptions>(&cg2d::explain);
  auto& configuration = explain.configuration;
  configuration.grid = {.columns = 2, .rows = 3};
  explain.problem = problem_class("S");
  command.begin_group("Picture");
  command.add("--grid PXxPY", "process columns x process rows; as many ranks are not needed",
              configuration.grid,
              [](const std::string& text) {
                const auto grid = grid_from(text);
                if (!grid) throw InputError("--grid auto: explain takes a grid, such as 2x3");
                require_ranks_of(*grid, most_explained_ranks);
                return *grid;
              },
              {.standing = configuration.grid.name()});
  command.add("--step all|" + one_of(names_of(step_parts)), "one operation of the CG step", explain.step);
  add_result_options(command, explain.format, {"text", "svg", "json"}, explain.output);
  command.begin_group("Sizes of the messages");
  add_class_option(command, explain.problem, "problem class: the order of its matrix", "S");
  command.add("--n N", "another order of the matrix", explain.problem.n, {.standing = "the class's"});
  add_axis_option(command, "sum_form", configuration);
  add_axis_option(command, "kernel", configuration,
                  "those with symmetric storage exchange in both directions (cg2d run --list-kernels)");
  command.check = [&] {
    check_configuration(configuration);
    complete_problem("explain", explain.problem, command);
  };
}

}  // namespace cg2d
