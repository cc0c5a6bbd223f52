// The plan that --dry-run prints.

#include <fmt/format.h>

#include "cg/base/describe_json.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

/// The plan's figures over all ranks.
struct PlanTotals {
  MemoryPlan largest;             // memory of the rank that needs most
  std::int64_t memory_bytes = 0;  // all ranks together
  StepTraffic busiest;            // traffic of the rank that sends most bytes
  comm::Traffic all_traffic;      // all ranks together
  comm::IndexRange smallest_piece;
  comm::IndexRange largest_piece;
  std::vector<std::int64_t> node_bytes;
};

PlanTotals add_up(const PlannedRun& run) {
  const auto& layout = run.layout;
  const bool mirrored = planned_kernel(run.configuration).stores_half();
  PlanTotals totals;
  totals.smallest_piece = totals.largest_piece = layout.piece(0);
  if (run.is_here) totals.node_bytes.resize(run.environment.nodes.size());
  for (int rank = 0; rank < layout.grid().rank_count(); ++rank) {
    auto memory = plan_memory(run.source, run.configuration, layout, rank);
    memory.process_bytes = run.environment.process_bytes;
    if (memory.total_bytes() > totals.largest.total_bytes()) totals.largest = memory;
    totals.memory_bytes = saturated_sum(totals.memory_bytes, memory.total_bytes());
    const auto traffic = plan_traffic(layout, rank, run.configuration.sum_form, mirrored);
    if (traffic.total().byte_count >= totals.busiest.total().byte_count) totals.busiest = traffic;
    totals.all_traffic += traffic.total();
    const auto piece = layout.piece(rank);
    if (piece.size() < totals.smallest_piece.size()) totals.smallest_piece = piece;
    if (piece.size() > totals.largest_piece.size()) totals.largest_piece = piece;
    if (run.is_here) {
      const auto node = run.environment.ranks[static_cast<std::size_t>(rank)].node;
      auto& bytes = totals.node_bytes[static_cast<std::size_t>(node)];
      bytes = saturated_sum(bytes, memory.total_bytes());
    }
  }
  return totals;
}

bool fits(const PlanTotals& totals, const Environment& environment) {
  for (std::size_t node = 0; node < totals.node_bytes.size(); ++node) {
    if (totals.node_bytes[node] > environment.memory_of_node(environment.nodes[node])) return false;
  }
  return true;
}

/// The plan of a matrix on storage: the memory above is then that of the same run without --out-of-core.
std::string stream_text(const StreamPlan& plan) {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format(" {:<22} {}\n", label, value);
  };
  line("Files of panels", fmt::format("{} in all, {} of a rank; {} are free", format_bytes(plan.file_bytes),
                                      format_bytes(plan.largest_file_bytes), format_bytes(plan.free_bytes)));
  line("Storage", fmt::format("{:.3g} GB/s, all ranks at once (measured)", plan.storage_bytes_per_s / 1e9));
  line("A product reads",
       fmt::format("{} in {:.3g} ms", format_bytes(plan.streamed_bytes), 1e3 * plan.reading_s));
  if (plan.multiply_s <= 0.0) {
    line("A product multiplies", "not known; cg2d model --calibrate describes this machine");
    return text;
  }
  line("A product multiplies",
       fmt::format("in {:.3g} ms, and takes {:.3g} ms", 1e3 * plan.multiply_s, 1e3 * plan.product_s()));
  line("Not bound by storage",
       fmt::format("from --memory-limit {} on; all stays in memory from {} on",
                   format_bytes(plan.limits.unbound_bytes), format_bytes(plan.limits.in_core_bytes)));
  return text;
}

std::string as_text(const PlannedRun& run, const PlanTotals& totals) {
  const auto& problem = run.problem;
  const auto& layout = run.layout;
  const auto& kernel = planned_kernel(run.configuration);
  const auto grid = layout.grid();
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format(" {:<22} {}\n", label, value);
  };
  line("Problem", fmt::format("class {}: n {}, nonzer {}, shift {}, niter {}", problem.class_name, problem.n,
                              problem.nonzer, problem.shift, problem.niter));
  line("Kernel", fmt::format("{}{}", kernel.name, kernel.stores_half() ? ", symmetric storage" : ""));
  line("Grid", fmt::format("{}: {} x {} = {}", grid.name(), format_count(grid.columns, "process column"),
                           format_count(grid.rows, "process row"), format_count(grid.rank_count(), "rank")));
  line("Pieces", fmt::format("{} of {} to {} elements", grid.rank_count(), totals.smallest_piece.size(),
                             totals.largest_piece.size()));
  line("Block of rank 0",
       fmt::format("{} x {} (rows x columns)", layout.row_block(0).size(), layout.column_block(0).size()));
  line("Nonzeros, expected", fmt::format("{:.0f} in all, {:.0f} per rank", expected_nonzero_count(problem),
                                         expected_nonzero_count(problem) / grid.rank_count()));
  line("Memory per rank",
       fmt::format("{}: process {}, block {}, vectors {}, generation {}",
                   format_bytes(totals.largest.total_bytes()), format_bytes(totals.largest.process_bytes),
                   format_bytes(totals.largest.block_bytes), format_bytes(totals.largest.vector_bytes),
                   format_bytes(totals.largest.working_bytes)));
  line("Memory of all ranks", format_bytes(totals.memory_bytes));
  if (run.streaming) text += stream_text(*run.streaming);
  for (std::size_t k = 0; k < totals.node_bytes.size(); ++k) {
    const auto& node = run.environment.nodes[k];
    const auto memory = run.environment.memory_of_node(node);
    line(node.name,
         fmt::format("needs {}, has {}: {}", format_bytes(totals.node_bytes[k]), format_bytes(memory),
                     totals.node_bytes[k] > memory ? "does not fit" : "fits"));
  }
  text +=
      fmt::format(" Sent per CG step by the busiest rank ({}):\n", sum_form_name(run.configuration.sum_form));
  Table table;
  const auto traffic_line = [&](std::string_view name, const comm::Traffic& traffic) {
    table.line().word("phase", name).number("messages", "{}", traffic.message_count);
    table.number("bytes", "{}", traffic.byte_count);
  };
  traffic_line("collection", totals.busiest.collection);
  traffic_line("summation", totals.busiest.summation);
  traffic_line("shuffle", totals.busiest.shuffle);
  traffic_line("dot (2)", totals.busiest.dot);
  traffic_line("total", totals.busiest.total());
  traffic_line("total, all ranks", totals.all_traffic);
  text += table.text("   ");
  return text;
}

void describe_traffic(Members& m, std::string_view name, const comm::Traffic& traffic) {
  m.object(name, [&] {
    m.derived("messages", traffic.message_count, at_least(0));
    m.derived("bytes", traffic.byte_count, at_least(0));
  });
}

void describe_memory(Members& m, MemoryPlan& memory) {
  m.derived("total", memory.total_bytes(), at_least(1));
  m("process", memory.process_bytes,
    at_least(0, "The program itself, with MPI, as it was measured in the process that planned."));
  m("block", memory.block_bytes, at_least(0));
  m("vectors", memory.vector_bytes, at_least(0));
  m("generation", memory.working_bytes, at_least(0));
}

void describe_stream(Members& m, StreamPlan& plan) {
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

/// The result of --dry-run --format json.
struct PlanDocument {
  Problem problem;
  Configuration configuration{};
  PlanTotals totals{};
  comm::IndexRange rows{};     ///< of rank 0's block
  comm::IndexRange columns{};  ///< likewise
  std::optional<bool> fits{};  ///< empty: planned for other ranks than those that run
  std::optional<StreamPlan> streaming{};
};

void describe_plan(Members& m, PlanDocument& plan) {
  auto& [problem, configuration, totals, rows, columns, is_fitting, streaming] = plan;
  const auto& busiest = totals.busiest;
  const bool stores_half = m.writes() && planned_kernel(configuration).stores_half();
  m.object("grid", [&] { describe_grid(m, plan.configuration.grid); });
  m.derived("ranks", configuration.grid.rank_count(), at_least(1));
  m.one_of("sum_form", configuration.sum_form, sum_form_table());
  m.derived("kernel", {}, [&] { return std::string(planned_kernel(plan.configuration).name); });
  m.derived("symmetric_storage", stores_half);
  m.derived("smallest_piece", totals.smallest_piece.size(), at_least(0));
  m.derived("largest_piece", totals.largest_piece.size(), at_least(1));
  m.derived("block_rows", rows.size(), at_least(0, "Of rank 0."));
  m.derived("block_columns", columns.size(), at_least(0, "Of rank 0."));
  m.derived("expected_nonzeros", positive(), [&] { return expected_nonzero_count(plan.problem); });
  m.object("memory_per_rank_bytes", meaning("Of the rank that needs most."),
           [&] { describe_memory(m, plan.totals.largest); });
  m("memory_bytes", totals.memory_bytes, at_least(1, "All ranks together."));
  m("fits", is_fitting, or_null("null: planned for other ranks than those that run."));
  m.object("busiest_rank_per_cg_step",
           meaning("What the rank that sends most bytes sends in one step; dot: both dot products."),
           [&, &busiest = busiest] {
             describe_traffic(m, "collection", busiest.collection);
             describe_traffic(m, "summation", busiest.summation);
             describe_traffic(m, "shuffle", busiest.shuffle);
             describe_traffic(m, "dot", busiest.dot);
           });
  describe_traffic(m, "all_ranks_per_cg_step", totals.all_traffic);
  m.object_if(
      streaming, "out_of_core",
      meaning("Only with --out-of-core. Figures of all ranks. null: not known without a description of this "
              "machine (cg2d model --calibrate)."),
      [&](auto& stream) { describe_stream(m, stream); });
}

void describe(Members& m, PlanDocument& plan) {
  describe_head(m);
  m.constant("status", std::string("planned"));
  m.constant("reason", std::string());
  m.constant("exit_code", 0);
  m.object("problem", [&] { describe_problem(m, plan.problem); });
  m.object("plan", [&] { describe_plan(m, plan); });
}

}  // namespace

void visit_plan_document(Members& m) { visit_new<PlanDocument>(m); }

std::string describe_plan(const PlannedRun& run, std::string_view format) {
  const auto totals = add_up(run);
  if (format != "json") return as_text(run, totals);
  PlanDocument plan{.problem = run.problem,
                    .configuration = run.configuration,
                    .totals = totals,
                    .rows = run.layout.row_block(0),
                    .columns = run.layout.column_block(0)};
  plan.configuration.grid = run.layout.grid();
  if (run.is_here) plan.fits = fits(totals, run.environment);
  if (run.streaming != nullptr) plan.streaming = *run.streaming;
  return document_text(plan);
}

}  // namespace cg2d
