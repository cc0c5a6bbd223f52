// The plan that --dry-run prints.

#include "cg/base/table.hpp"
#include "cg/report/report.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

void describe(Members& m, MemoryPlan& memory) {
  m.derived("total", memory.total_bytes(), at_least(1));
  m("process", memory.process_bytes,
    at_least(0, "The program itself, with MPI, as it was measured in the process that planned."));
  m("block", memory.block_bytes, at_least(0));
  m("vectors", memory.vector_bytes, at_least(0));
  m("generation", memory.working_bytes, at_least(0));
}

void describe(Members& m, StreamPlan& plan) {
  const bool is_timed = m.writes() && plan.multiply_s > 0.0;
  const auto known = [&](auto value) { return is_timed ? std::optional(value) : std::nullopt; };
  m("file_bytes", plan.file_bytes, at_least(0));
  m("largest_file_bytes", plan.largest_file_bytes, at_least(0, "Of one rank."));
  m("free_bytes", plan.free_bytes, at_least(0, "In the folder that has least."));
  m("streamed_bytes_per_product", plan.streamed_bytes, at_least(0));
  m("storage_bytes_per_s", plan.storage_bytes_per_s, positive("Measured."));
  m("reading_s_per_product", plan.reading_s, at_least(0, "The slowest rank's."));
  m.derived("multiply_s_per_product", known(plan.multiply_s), or_null(at_least(0)));
  m.derived("product_s", known(plan.product_s()), or_null(at_least(0, "The longer of both.")));
  m.derived(
      "unbound_memory_limit_bytes", known(plan.limits.unbound_bytes),
      or_null(at_least(0, "With --memory-limit from here on reading takes no longer than multiplying.")));
  m.derived("in_core_memory_limit_bytes", known(plan.limits.in_core_bytes),
            or_null(at_least(0, "With --memory-limit from here on nothing is streamed.")));
}

namespace {

/// The result of --dry-run.
struct DryRunPlan {
  Problem problem;
  Configuration configuration{};  ///< with the grid of the layout
  MemoryPlan largest{};           ///< memory of the rank that needs most
  int64_t memory_bytes = 0;       ///< all ranks together
  StepTraffic busiest{};          ///< traffic of the rank that sends most bytes
  comm::Traffic all_traffic{};    ///< all ranks together
  int64_t smallest_piece = 0;
  int64_t largest_piece = 0;
  int64_t row_count = 0;     ///< of rank 0's block
  int64_t column_count = 0;  ///< of rank 0's block
  std::vector<int64_t> node_bytes{};
  std::optional<bool> fits{};  ///< empty: planned for other ranks than those that run
  std::optional<StreamPlan> streaming{};
};

DryRunPlan plan_of(const PlannedRun& run) {
  const auto& layout = run.layout;
  const auto& environment = run.environment;
  const bool mirrored = planned_kernel(run.configuration).stores_half();
  DryRunPlan plan{.problem = run.problem,
                  .configuration = run.configuration,
                  .smallest_piece = layout.size(),
                  .row_count = layout.row_block(0).size(),
                  .column_count = layout.column_block(0).size()};
  plan.configuration.grid = layout.grid();
  if (run.streaming != nullptr) plan.streaming = *run.streaming;
  if (run.is_here) plan.node_bytes.resize(environment.nodes.size());
  for (int rank = 0; rank < layout.grid().rank_count(); ++rank) {
    auto memory = plan_memory(run.source, run.configuration, layout, rank);
    memory.process_bytes = environment.process_bytes;
    if (memory.total_bytes() > plan.largest.total_bytes()) plan.largest = memory;
    plan.memory_bytes = saturated_sum(plan.memory_bytes, memory.total_bytes());
    const auto traffic = plan_traffic(layout, rank, run.configuration.sum_form, mirrored);
    if (traffic.total().byte_count >= plan.busiest.total().byte_count) plan.busiest = traffic;
    plan.all_traffic += traffic.total();
    plan.smallest_piece = std::min(plan.smallest_piece, layout.piece(rank).size());
    plan.largest_piece = std::max(plan.largest_piece, layout.piece(rank).size());
    if (!run.is_here) continue;
    auto& bytes = plan.node_bytes.at(static_cast<size_t>(environment.ranks[static_cast<size_t>(rank)].node));
    bytes = saturated_sum(bytes, memory.total_bytes());
  }
  if (run.is_here)
    plan.fits = std::ranges::equal(plan.node_bytes, environment.nodes, std::less_equal(), {},
                                   [&](const auto& node) { return environment.memory_of_node(node); });
  return plan;
}

/// The operations of a CG step, and what each sends.
constexpr std::array<std::pair<std::string_view, comm::Traffic StepTraffic::*>, 4> operations{
    {{"collection", &StepTraffic::collection},
     {"summation", &StepTraffic::summation},
     {"shuffle", &StepTraffic::shuffle},
     {"dot", &StepTraffic::dot}}};

/// The plan of a matrix on storage: the memory above is then that of the same run without --out-of-core.
void add_stream(const StreamPlan& plan, LabelledLines& line) {
  line("Files of panels", "{} in all, {} of a rank; {} are free", format_bytes(plan.file_bytes),
       format_bytes(plan.largest_file_bytes), format_bytes(plan.free_bytes));
  line("Storage", "{:.3g} GB/s, all ranks at once (measured)", plan.storage_bytes_per_s / 1e9);
  line("A product reads", "{} in {:.3g} ms", format_bytes(plan.streamed_bytes), 1e3 * plan.reading_s);
  if (plan.multiply_s <= 0.0)
    return line("A product multiplies", "not known; cg2d model --calibrate describes this machine");
  line("A product multiplies", "in {:.3g} ms, and takes {:.3g} ms", 1e3 * plan.multiply_s,
       1e3 * plan.product_s());
  line("Not bound by storage", "from --memory-limit {} on; all stays in memory from {} on",
       format_bytes(plan.limits.unbound_bytes), format_bytes(plan.limits.in_core_bytes));
}

std::string as_text(const DryRunPlan& plan, const Environment& environment) {
  const auto& problem = plan.problem;
  const auto& kernel = planned_kernel(plan.configuration);
  const auto grid = plan.configuration.grid;
  const int rank_count = grid.rank_count();
  LabelledLines line{.text = {}, .width = 22, .link = " "};
  line("Problem", "class {}: n {}, nonzer {}, shift {}, niter {}", problem.class_name, problem.n,
       problem.nonzer, problem.shift, problem.niter);
  line("Kernel", "{}{}", kernel.name, kernel.stores_half() ? ", symmetric storage" : "");
  line("Grid", "{}: {} x {} = {}", grid.name(), format_count(grid.columns, "process column"),
       format_count(grid.rows, "process row"), format_count(rank_count, "rank"));
  line("Pieces", "{} of {} to {} elements", rank_count, plan.smallest_piece, plan.largest_piece);
  line("Block of rank 0", "{} x {} (rows x columns)", plan.row_count, plan.column_count);
  line("Nonzeros, expected", "{:.0f} in all, {:.0f} per rank", expected_nonzero_count(problem),
       expected_nonzero_count(problem) / rank_count);
  const auto& largest = plan.largest;
  line("Memory per rank", "{}: process {}, block {}, vectors {}, generation {}",
       format_bytes(largest.total_bytes()), format_bytes(largest.process_bytes),
       format_bytes(largest.block_bytes), format_bytes(largest.vector_bytes),
       format_bytes(largest.working_bytes));
  line("Memory of all ranks", format_bytes(plan.memory_bytes));
  if (plan.streaming) add_stream(*plan.streaming, line);
  for (size_t k = 0; k < plan.node_bytes.size(); ++k) {
    const auto memory = environment.memory_of_node(environment.nodes[k]);
    line(environment.nodes[k].name, "needs {}, has {}: {}", format_bytes(plan.node_bytes[k]),
         format_bytes(memory), plan.node_bytes[k] > memory ? "does not fit" : "fits");
  }
  Table table;
  const auto traffic_line = [&](std::string_view name, const comm::Traffic& traffic) {
    table.line().word("phase", name).number("messages", "{}", traffic.message_count);
    table.number("bytes", "{}", traffic.byte_count);
  };
  for (const auto& [name, sent] : operations)
    traffic_line(name == "dot" ? "dot (2)" : name, plan.busiest.*sent);
  traffic_line("total", plan.busiest.total());
  traffic_line("total, all ranks", plan.all_traffic);
  return line.text +
         fmt::format(" Sent per CG step by the busiest rank ({}):\n",
                     sum_form_name(plan.configuration.sum_form)) +
         table.text("   ");
}

void describe_traffic(Members& m, std::string_view name, const comm::Traffic& traffic) {
  m.object(name, [&] {
    m.derived("messages", traffic.message_count, at_least(0));
    m.derived("bytes", traffic.byte_count, at_least(0));
  });
}

void describe(Members& m, DryRunPlan& plan) {
  describe_head(m);
  m.constant("status", std::string("planned"));
  m.constant("reason", std::string());
  m.constant("exit_code", 0);
  m.object("problem", [&] { describe_problem(m, plan.problem); });
  m.object("plan", [&] {
    auto& configuration = plan.configuration;
    const bool stores_half = m.writes() && planned_kernel(configuration).stores_half();
    m.object("grid", [&] { describe_grid(m, configuration.grid); });
    m.derived("ranks", configuration.grid.rank_count(), at_least(1));
    m.one_of("sum_form", configuration.sum_form, sum_form_table());
    m.derived("kernel", {}, [&] { return std::string(planned_kernel(plan.configuration).name); });
    m.derived("symmetric_storage", stores_half);
    m("smallest_piece", plan.smallest_piece, at_least(0));
    m("largest_piece", plan.largest_piece, at_least(1));
    m("block_rows", plan.row_count, at_least(0, "Of rank 0."));
    m("block_columns", plan.column_count, at_least(0, "Of rank 0."));
    m.derived("expected_nonzeros", expected_nonzero_count(plan.problem), positive());
    m("memory_per_rank_bytes", plan.largest, meaning("Of the rank that needs most."));
    m("memory_bytes", plan.memory_bytes, at_least(1, "All ranks together."));
    m("fits", plan.fits, or_null("null: planned for other ranks than those that run."));
    m.object("busiest_rank_per_cg_step",
             meaning("What the rank that sends most bytes sends in one step; dot: both dot products."), [&] {
               for (const auto& [name, sent] : operations) describe_traffic(m, name, plan.busiest.*sent);
             });
    describe_traffic(m, "all_ranks_per_cg_step", plan.all_traffic);
    m("out_of_core", plan.streaming,
      meaning("Only with --out-of-core. Figures of all ranks. null: not known without a description of this "
              "machine (cg2d model --calibrate)."));
  });
}

}  // namespace

void visit_plan_document(Members& m) { visit_new<DryRunPlan>(m); }

std::string describe_plan(const PlannedRun& run, std::string_view format) {
  const auto plan = plan_of(run);
  return format == "json" ? document_text(plan) : as_text(plan, run.environment);
}

}  // namespace cg2d
