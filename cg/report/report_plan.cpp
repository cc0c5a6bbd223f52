// The plan that --dry-run prints.

#include <fmt/format.h>

#include <functional>

#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/report.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/session_record.hpp"
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

/// A plan with its figures.
struct SeenPlan {
  const PlannedRun& run;
  const PlanTotals& totals;
};

const Record<comm::Traffic>& traffic_record() {
  static const Record<comm::Traffic> record{"traffic",
                                            {{"messages", count_type(), &comm::Traffic::message_count},
                                             {"bytes", count_type(), &comm::Traffic::byte_count}}};
  return record;
}

const Record<StepTraffic>& step_traffic_record() {
  static const Record<StepTraffic> record{
      "step_traffic",
      {part<StepTraffic>("collection", traffic_record(), &StepTraffic::collection),
       part<StepTraffic>("summation", traffic_record(), &StepTraffic::summation),
       part<StepTraffic>("shuffle", traffic_record(), &StepTraffic::shuffle),
       part<StepTraffic>("dot", traffic_record(), &StepTraffic::dot)}};
  return record;
}

const Record<MemoryPlan>& memory_record() {
  static const Record<MemoryPlan> record{
      "memory_plan",
      {{"total", positive_count_type(), &MemoryPlan::total_bytes},
       {"process", count_type(), &MemoryPlan::process_bytes,
        "The program itself, with MPI, as it was measured in the process that planned."},
       {"block", count_type(), &MemoryPlan::block_bytes},
       {"vectors", count_type(), &MemoryPlan::vector_bytes},
       {"generation", count_type(), &MemoryPlan::working_bytes}}};
  return record;
}

/// A figure that follows from the time of a product.
template <typename Member>
Figure<StreamPlan> multiply_figure(std::string name, FigureType type, Member member,
                                   std::string meaning = {}) {
  return {std::move(name), or_null(std::move(type)),
          [member](const StreamPlan& plan) {
            return plan.multiply_s > 0.0 ? std::optional(std::invoke(member, plan)) : std::nullopt;
          },
          std::move(meaning)};
}

const Record<StreamPlan>& stream_plan_record() {
  static const Record<StreamPlan> record{
      "stream_plan",
      {{"file_bytes", count_type(), &StreamPlan::file_bytes},
       {"largest_file_bytes", count_type(), &StreamPlan::largest_file_bytes, "Of one rank."},
       {"free_bytes", count_type(), &StreamPlan::free_bytes, "In the folder that has least."},
       {"streamed_bytes_per_product", count_type(), &StreamPlan::streamed_bytes},
       {"storage_bytes_per_s", positive_seconds_type(), &StreamPlan::storage_bytes_per_s, "Measured."},
       {"reading_s_per_product", seconds_type(), &StreamPlan::reading_s, "The slowest rank's."},
       multiply_figure("multiply_s_per_product", seconds_type(), &StreamPlan::multiply_s),
       multiply_figure("product_s", seconds_type(), &StreamPlan::product_s, "The longer of both."),
       multiply_figure(
           "unbound_memory_limit_bytes", count_type(),
           [](const StreamPlan& plan) { return plan.limits.unbound_bytes; },
           "With --memory-limit from here on reading takes no longer than multiplying."),
       multiply_figure(
           "in_core_memory_limit_bytes", count_type(),
           [](const StreamPlan& plan) { return plan.limits.in_core_bytes; },
           "With --memory-limit from here on nothing is streamed.")},
      "Figures of all ranks. null: not known without a description of this machine (cg2d model "
      "--calibrate)."};
  return record;
}

const Record<SeenPlan>& plan_record() {
  static const Record<SeenPlan> record{
      "plan",
      {part<SeenPlan>("grid", grid_record(), [](const SeenPlan& plan) { return plan.run.layout.grid(); }),
       {"ranks", positive_count_type(), [](const auto& plan) { return plan.run.layout.grid().rank_count(); }},
       {"sum_form", word_type(names_of(sum_form_table())),
        [](const auto& plan) { return sum_form_name(plan.run.configuration.sum_form); }},
       {"kernel", name_type(), [](const auto& plan) { return planned_kernel(plan.run.configuration).name; }},
       {"symmetric_storage", flag_type(),
        [](const auto& plan) { return planned_kernel(plan.run.configuration).stores_half(); }},
       {"smallest_piece", count_type(), [](const auto& plan) { return plan.totals.smallest_piece.size(); }},
       {"largest_piece", positive_count_type(),
        [](const auto& plan) { return plan.totals.largest_piece.size(); }},
       {"block_rows", count_type(), [](const auto& plan) { return plan.run.layout.row_block(0).size(); },
        "Of rank 0."},
       {"block_columns", count_type(),
        [](const auto& plan) { return plan.run.layout.column_block(0).size(); }, "Of rank 0."},
       {"expected_nonzeros", positive_seconds_type(),
        [](const auto& plan) { return expected_nonzero_count(plan.run.problem); }},
       part<SeenPlan>(
           "memory_per_rank_bytes", memory_record(),
           [](const SeenPlan& plan) -> const auto& { return plan.totals.largest; },
           "Of the rank that needs most."),
       {"memory_bytes", positive_count_type(), [](const auto& plan) { return plan.totals.memory_bytes; },
        "All ranks together."},
       {"fits", or_null(flag_type()),
        [](const auto& plan) {
          return plan.run.is_here ? std::optional(fits(plan.totals, plan.run.environment)) : std::nullopt;
        },
        "null: planned for other ranks than those that run."},
       part<SeenPlan>(
           "busiest_rank_per_cg_step", step_traffic_record(),
           [](const SeenPlan& plan) -> const auto& { return plan.totals.busiest; },
           "What the rank that sends most bytes sends in one step; dot: both dot products."),
       part<SeenPlan>(
           "all_ranks_per_cg_step", traffic_record(),
           [](const SeenPlan& plan) -> const auto& { return plan.totals.all_traffic; }),
       part<SeenPlan>(
           "out_of_core", stream_plan_record(), [](const SeenPlan& plan) { return plan.run.streaming; },
           "Only with --out-of-core.", Presence::if_known)}};
  return record;
}

/// A member of a plan that is always the same.
Figure<SeenPlan> constant(std::string name, const Json& value) {
  return {std::move(name), constant_type(value), [value](const auto& /*plan*/) { return value; }};
}

const Record<SeenPlan>& plan_document_record() {
  static const auto record = [] {
    auto problem = problem_record();
    problem.name = "planned_problem";
    std::erase_if(problem.figures, [](const auto& figure) {
      return figure.name == "rcond" || figure.name == "reference_zeta";
    });
    return Record<SeenPlan>{
        "plan_document",
        {constant("schema_version", result_schema_version),
         {"program", type_of(program_record()), [](const auto& /*plan*/) { return program_json(); }},
         constant("status", "planned"),
         constant("reason", ""),
         constant("exit_code", 0),
         part<SeenPlan>(
             "problem", problem, [](const SeenPlan& plan) -> const auto& { return plan.run.problem; }),
         part<SeenPlan>("plan", plan_record(), std::identity())}};
  }();
  return record;
}

}  // namespace

FigureType run_result_type() {
  return {
      {"description",
       "The result of a run, finished or not (status says which), or the plan of one (--dry-run). Sizes are "
       "bytes, times are seconds, clocks are reference cycles. null stands for what a run did not come to, "
       "and for NaN and infinity."},
      {"type", "object"},
      {"required", {"schema_version", "status"}},
      {"properties", {{"schema_version", constant_type(result_schema_version)}}},
      {"if", {{"properties", {{"status", constant_type("planned")}}}}},
      {"then", type_of(plan_document_record())},
      {"else", type_of(run_document_record())}};
}

std::vector<std::string> plan_format_names() { return {"text", "json"}; }

std::string describe_plan(const PlannedRun& run, std::string_view format) {
  const auto totals = add_up(run);
  if (format != "json") return as_text(run, totals);
  return json_text(json_of(plan_document_record(), {run, totals}), 2) + "\n";
}

}  // namespace cg2d
