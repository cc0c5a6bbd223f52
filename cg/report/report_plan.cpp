// The plan that --dry-run prints.

#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

void describe(Members& m, MemoryPlan& memory) {
  m.derived("total", memory.total_bytes(), at_least(1));
  m("process", memory.process_bytes, at_least(0, "Program and MPI, as in the process that planned."));
  m("block", memory.block_bytes, at_least(0));
  m("vectors", memory.vector_bytes, at_least(0));
  m("generation", memory.working_bytes, at_least(0));
}

void describe(Members& m, StreamPlan& plan) {
  const bool is_timed = m.writes() && plan.multiply_s > 0.0;
  const auto known = [&](auto value) { return is_timed ? std::optional(value) : std::nullopt; };
  m("file_bytes", plan.file_bytes, labelled("Files of panels", "B"));
  m("largest_file_bytes", plan.largest_file_bytes, labelled("Largest file", "B", "Of one rank."));
  m("free_bytes", plan.free_bytes, labelled("Free", "B", "In the folder that has least."));
  m("streamed_bytes_per_product", plan.streamed_bytes, labelled("A product reads", "B"));
  m("storage_bytes_per_s", plan.storage_bytes_per_s, labelled("Storage", "B/s", positive("Measured.")));
  m("reading_s_per_product", plan.reading_s, labelled("Reading", "s", "The slowest rank's."));
  m.derived("multiply_s_per_product", known(plan.multiply_s), or_null(labelled("Multiplying", "s")));
  m.derived("product_s", known(plan.product_s()), or_null(labelled("Product", "s", "The longer of both.")));
  m.derived("unbound_memory_limit_bytes", known(plan.limits.unbound_bytes),
            or_null(labelled("Not bound from", "B",
                             "With --memory-limit from here on reading takes no longer than multiplying.")));
  m.derived(
      "in_core_memory_limit_bytes", known(plan.limits.in_core_bytes),
      or_null(labelled("In memory from", "B", "With --memory-limit from here on nothing is streamed.")));
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

/// Of one CG step. A reproducible product sums and shuffles both halves of q, a dot product two numbers.
StepTraffic traffic_of(const PlannedRun& run, int rank) {
  auto traffic = plan_traffic(run.layout, rank, run.configuration.sum_form,
                              planned_kernel(run.configuration).stores_half());
  if (run.configuration.is_reproducible) {
    traffic.summation += traffic.summation;
    traffic.shuffle += traffic.shuffle;
    traffic.dot.byte_count *= 2;
  }
  return traffic;
}

DryRunPlan plan_of(const PlannedRun& run) {
  const auto& layout = run.layout;
  const auto& environment = run.environment;
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
    const auto traffic = traffic_of(run, rank);
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

void describe_traffic(Members& m, std::string_view name, const comm::Traffic& traffic,
                      const Note& note = {}) {
  m.object(name, note, [&] {
    m.derived("messages", traffic.message_count, at_least(0));
    m.derived("bytes", traffic.byte_count, at_least(0));
  });
}

void describe(Members& m, DryRunPlan& plan) {
  describe_head(m);
  m.constant("status", std::string("planned"));
  m.constant("reason", std::string());
  m.constant("exit_code", 0);
  m.object("problem", labelled("Problem"), [&] { describe_problem(m, plan.problem); });
  m.object("plan", [&] {
    auto& configuration = plan.configuration;
    const bool stores_half = m.writes() && planned_kernel(configuration).stores_half();
    m.object("grid", labelled("Grid"), [&] { describe_grid(m, configuration.grid); });
    m.derived("ranks", configuration.grid.rank_count(), at_least(1));
    m.one_of("sum_form", configuration.sum_form, sum_form_table(), labelled("Sum"));
    m.derived("kernel", labelled("Kernel"),
              [&] { return std::string(planned_kernel(plan.configuration).name); });
    m.derived("symmetric_storage", stores_half, labelled("Symmetric"));
    m("smallest_piece", plan.smallest_piece, labelled("Smallest piece"));
    m("largest_piece", plan.largest_piece, labelled("Largest piece", {}, at_least(1)));
    m("block_rows", plan.row_count, labelled("Block rows", {}, "Of rank 0."));
    m("block_columns", plan.column_count, labelled("Block columns", {}, "Of rank 0."));
    m.derived("expected_nonzeros", expected_nonzero_count(plan.problem),
              labelled("Nonzeros", {}, positive()));
    m("memory_per_rank_bytes", plan.largest, labelled("Memory per rank", "B", "Of the one that needs most."));
    m("memory_bytes", plan.memory_bytes, labelled("Memory", "B", at_least(1, "All ranks together.")));
    m("fits", plan.fits, or_null("null: planned for other ranks than those that run."));
    m.object("busiest_rank_per_cg_step",
             labelled("Busiest rank", {},
                      "What the rank that sends most bytes sends in one CG step; dot: both dot products."),
             [&] {
               describe_traffic(m, "collection", plan.busiest.collection);
               describe_traffic(m, "summation", plan.busiest.summation);
               describe_traffic(m, "shuffle", plan.busiest.shuffle);
               describe_traffic(m, "dot", plan.busiest.dot);
             });
    describe_traffic(m, "all_ranks_per_cg_step", plan.all_traffic, labelled("All ranks send"));
    m("out_of_core", plan.streaming,
      meaning(
          "Only with --out-of-core, of all ranks; times are null without a description of this machine."));
  });
}

/// The labelled figures, and what each node needs and has.
std::string as_text(const DryRunPlan& plan, const Environment& environment) {
  auto text = labelled_lines(shown_figures(schema_of<DryRunPlan>()), json_of(plan));
  for (size_t k = 0; k < plan.node_bytes.size(); ++k) {
    const auto memory = environment.memory_of_node(environment.nodes[k]);
    text +=
        fmt::format(" {} needs {}, has {}: {}\n", environment.nodes[k].name, format_bytes(plan.node_bytes[k]),
                    format_bytes(memory), plan.node_bytes[k] > memory ? "does not fit" : "fits");
  }
  return text;
}

}  // namespace

void visit_plan_document(Members& m) { visit_new<DryRunPlan>(m); }

std::string describe_plan(const PlannedRun& run, std::string_view format) {
  const auto plan = plan_of(run);
  return format == "json" ? document_text(plan) : as_text(plan, run.environment);
}

}  // namespace cg2d
