// The plan that --dry-run prints.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_json.hpp"
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

Json stream_json(const StreamPlan& plan) {
  return {
      {"file_bytes", plan.file_bytes},
      {"largest_file_bytes", plan.largest_file_bytes},
      {"free_bytes", plan.free_bytes},
      {"streamed_bytes_per_product", plan.streamed_bytes},
      {"storage_bytes_per_s", plan.storage_bytes_per_s},
      {"reading_s_per_product", plan.reading_s},
      {"multiply_s_per_product", plan.multiply_s > 0.0 ? Json(plan.multiply_s) : Json(nullptr)},
      {"product_s", plan.multiply_s > 0.0 ? Json(plan.product_s()) : Json(nullptr)},
      {"unbound_memory_limit_bytes", plan.multiply_s > 0.0 ? Json(plan.limits.unbound_bytes) : Json(nullptr)},
      {"in_core_memory_limit_bytes",
       plan.multiply_s > 0.0 ? Json(plan.limits.in_core_bytes) : Json(nullptr)}};
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
  const auto traffic_line = [&](std::string_view name, const comm::Traffic& traffic) {
    text += fmt::format("   {:<20} {:>4} messages {:>14} bytes\n", name, traffic.message_count,
                        traffic.byte_count);
  };
  traffic_line("collection", totals.busiest.collection);
  traffic_line("summation", totals.busiest.summation);
  traffic_line("shuffle", totals.busiest.shuffle);
  traffic_line("dot (2)", totals.busiest.dot);
  traffic_line("total", totals.busiest.total());
  traffic_line("total, all ranks", totals.all_traffic);
  return text;
}

Json traffic_json(const comm::Traffic& traffic) {
  return {{"messages", traffic.message_count}, {"bytes", traffic.byte_count}};
}

std::string as_json(const PlannedRun& run, const PlanTotals& totals) {
  const auto& problem = run.problem;
  const auto& layout = run.layout;
  const auto& kernel = planned_kernel(run.configuration);
  const auto grid = layout.grid();
  Json json{{"schema_version", result_schema_version},
            {"program", program_json()},
            {"status", "planned"},
            {"reason", ""},
            {"exit_code", 0},
            {"problem",
             {{"class", problem.class_name},
              {"n", problem.n},
              {"nonzer", problem.nonzer},
              {"niter", problem.niter},
              {"shift", problem.shift}}},
            {"plan",
             {{"grid", {{"name", grid.name()}, {"columns", grid.columns}, {"rows", grid.rows}}},
              {"ranks", grid.rank_count()},
              {"sum_form", sum_form_name(run.configuration.sum_form)},
              {"kernel", kernel.name},
              {"symmetric_storage", kernel.stores_half()},
              {"smallest_piece", totals.smallest_piece.size()},
              {"largest_piece", totals.largest_piece.size()},
              {"block_rows", layout.row_block(0).size()},
              {"block_columns", layout.column_block(0).size()},
              {"expected_nonzeros", expected_nonzero_count(problem)},
              {"memory_per_rank_bytes",
               {{"total", totals.largest.total_bytes()},
                {"process", totals.largest.process_bytes},
                {"block", totals.largest.block_bytes},
                {"vectors", totals.largest.vector_bytes},
                {"generation", totals.largest.working_bytes}}},
              {"memory_bytes", totals.memory_bytes},
              {"fits", run.is_here ? Json(fits(totals, run.environment)) : Json(nullptr)},
              {"busiest_rank_per_cg_step",
               {{"collection", traffic_json(totals.busiest.collection)},
                {"summation", traffic_json(totals.busiest.summation)},
                {"shuffle", traffic_json(totals.busiest.shuffle)},
                {"dot", traffic_json(totals.busiest.dot)}}},
              {"all_ranks_per_cg_step", traffic_json(totals.all_traffic)}}}};
  if (run.streaming) json["plan"]["out_of_core"] = stream_json(*run.streaming);
  return json_text(json, 2) + "\n";
}

}  // namespace

std::vector<std::string> plan_format_names() { return {"text", "json"}; }

std::string describe_plan(const PlannedRun& run, std::string_view format) {
  const auto totals = add_up(run);
  return format == "json" ? as_json(run, totals) : as_text(run, totals);
}

}  // namespace cg2d
